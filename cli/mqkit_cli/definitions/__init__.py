"""``mqkit broker export-definitions`` and ``import-definitions``."""
