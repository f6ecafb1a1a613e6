"""The commands, a file for each noun that a person types."""
