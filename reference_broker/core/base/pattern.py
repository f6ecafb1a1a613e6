"""A regular expression from outside, on RE2: its time is linear in the text, whatever it says.

RabbitMQ runs such patterns on octets, unanchored. So does this: a name that is no UTF-8 is matched
like any other.
"""

from __future__ import annotations

from functools import lru_cache

import re2

PATTERN_BYTES_MAX = 8_192
"""Octets of a pattern: some hundreds of names in one alternation."""

MEMORY_MAX = 512 * 1024
"""Bytes that one compiled pattern may come to use. RE2 gets slower at it, and stays linear."""

STEPS_PER_UNIT = 300
"""Instructions that are taken in the time of a unit of work, at 8 ns each."""

COMPILED_KEPT = 64
"""The last ones: the permissions of thousands of users repeat a few patterns."""


class BadPattern(ValueError):
    """The text is no regular expression, or one that RE2 doesn't have; the reason is its text."""


@lru_cache(maxsize=COMPILED_KEPT)
def _compiled(octets: bytes) -> re2._Regexp:
    """Raises ``re2.error``."""
    return re2.compile(octets, _OPTIONS)


def _options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = MEMORY_MAX
    return options


_OPTIONS = _options()


class Pattern:
    """A compiled pattern. ``text`` is what it was made of. Raises :exc:`BadPattern`.

    At its slowest RE2 takes each of the pattern's ``instructions`` for each octet of a name.
    """

    __slots__ = ("_search", "instructions", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            octets = text.encode()
        except UnicodeEncodeError as error:
            raise BadPattern(str(error)) from error
        if len(octets) > PATTERN_BYTES_MAX:
            raise BadPattern(f"longer than {PATTERN_BYTES_MAX} bytes")
        try:
            compiled = _compiled(octets)
        except re2.error as error:
            reason = error.args[0]
            shown = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
            raise BadPattern(shown) from error
        self._search = compiled.search
        self.instructions: int = compiled.programsize

    def __repr__(self) -> str:
        return f"<Pattern {self.text!r}>"

    def units(self, name: bytes) -> int:
        """The units of work that a match with ``name`` takes, at most."""
        return self.instructions * len(name) // STEPS_PER_UNIT

    def matches(self, name: bytes) -> bool:
        """Is there a match anywhere in ``name``?"""
        return self._search(name) is not None
