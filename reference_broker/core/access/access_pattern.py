"""A permission's pattern. An empty one allows nothing (RabbitMQ), and some are made of names."""

from __future__ import annotations

from reference_broker.core.base.pattern import Pattern

_NOTHING = "^$"
"""What an empty pattern means: no name is empty."""


class AccessPattern:
    """One compiled pattern. ``text`` is what was given. Raises :exc:`BadPattern`."""

    __slots__ = ("_pattern", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._pattern = Pattern(text or _NOTHING)

    def matches(self, name: str) -> bool:
        """Whether the pattern is found anywhere in ``name``."""
        return self._pattern.matches(name.encode(errors="surrogateescape"))


def literal(text: str) -> str:
    """A pattern that finds ``text`` and nothing else."""
    return "".join(
        char if char.isalnum() or ord(char) > 127 else f"\\x{{{ord(char):x}}}" for char in text
    )
