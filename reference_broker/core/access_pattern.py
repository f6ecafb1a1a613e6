"""A permission's pattern: a regular expression from outside, so it runs on RE2 and never on ``re``.

RE2 takes time in proportion to the name, whatever the pattern. It has no look-around and no
back-references, which RabbitMQ's PCRE has: a pattern with one is refused when it is set. As in
RabbitMQ the search is not anchored, case counts, and octets are compared.
"""

from __future__ import annotations

import re2

PATTERN_BYTES_MAX = 4_096
"""Longer than any list of names that a person writes."""

_PROGRAM_BYTES_MAX = 1 << 20
"""Memory for one compiled pattern: ``(((a{100}){100}){100})`` is refused, not compiled."""

_NOTHING = "^$"
"""What an empty pattern means: no name is empty."""


class BadPattern(ValueError):
    """Not a regular expression that RE2 can run; the text says why."""


class AccessPattern:
    """One compiled pattern. ``text`` is what was given. Raises :exc:`BadPattern`."""

    __slots__ = ("_search", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        octets = (text or _NOTHING).encode(errors="surrogateescape")
        if len(octets) > PATTERN_BYTES_MAX:
            raise BadPattern(f"longer than {PATTERN_BYTES_MAX} bytes")
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        options.max_mem = _PROGRAM_BYTES_MAX
        options.never_capture = True
        try:
            self._search = re2.compile(octets, options).search
        except re2.error as error:
            raise BadPattern(_told(error)) from None

    def matches(self, name: str) -> bool:
        """Whether the pattern is found anywhere in ``name``."""
        return self._search(name.encode(errors="surrogateescape")) is not None


def literal(text: str) -> str:
    """A pattern that finds ``text`` and nothing else."""
    return "".join(
        char if char.isalnum() or ord(char) > 127 else f"\\x{{{ord(char):x}}}" for char in text
    )


def _told(error: Exception) -> str:
    """RE2's words. It gives them as octets."""
    why = error.args[0] if error.args else ""
    return why.decode(errors="replace") if isinstance(why, bytes) else str(why)
