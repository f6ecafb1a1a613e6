"""The topology file: YAML with line numbers, its sections, and its faults."""
