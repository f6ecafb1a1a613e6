"""A live broker back as a topology file."""
