"""The names of what a migration needs beside the queue. Pure."""

from __future__ import annotations

NAME_BYTES_MAX = 255
"""A short string of AMQP 0-9-1."""

_SUFFIX = ".migrating"


def temporary_name(queue: str) -> str:
    """The queue in which the messages of ``queue`` wait; those of a queue that dead-letters to the
    migrated one are held in one of such a name, too."""
    return queue + _SUFFIX


def inlet_name(queue: str) -> str:
    """A fanout exchange to the temporary queue of ``queue``, and to nothing else."""
    return queue + _SUFFIX + ".in"


def outlet_name(queue: str) -> str:
    """A fanout exchange back to ``queue``, and to nothing else."""
    return queue + _SUFFIX + ".out"


def gate_name(queue: str) -> str:
    """The exchange by which messages come to ``queue`` while it is migrated."""
    return queue + _SUFFIX + ".gate"


def lock_name(queue: str) -> str:
    """The exclusive queue that one process has while it migrates ``queue``."""
    return queue + _SUFFIX + ".lock"


def is_too_long(queue: str) -> bool:
    """True if AMQP has no room for these names."""
    return len(lock_name(queue).encode()) > NAME_BYTES_MAX
