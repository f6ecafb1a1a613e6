"""The connections of a client: who keeps them, and what is told of them."""
