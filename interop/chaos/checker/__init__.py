"""The checker: reads the facts of a run and holds the laws. It imports nothing of mqkit."""
