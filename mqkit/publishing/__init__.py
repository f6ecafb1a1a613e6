"""Messages made of Python values: bodies, properties, ids, and targets with a type."""
