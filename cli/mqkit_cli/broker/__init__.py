"""``mqkit broker``: running the reference broker, its options and its configuration file."""
