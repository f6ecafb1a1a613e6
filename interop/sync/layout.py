"""The names that a run and its site share."""

QUEUE = "interop.sync"

BEFORE_THE_FORK = "before-the-fork"
"""The message that the site publishes before there are workers, by their master's connection."""
