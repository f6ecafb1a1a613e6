"""A parking lot by the clock, as the file has it under ``lots:``, and the limits of an alert.

Nothing of it is declared: a broker knows no such thing. :mod:`mqkit.lots` carries it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PLACEHOLDERS = ("queue", "date")
"""The names in braces that an archive's path may have: the lot, and the day (UTC)."""


@dataclass(frozen=True, slots=True)
class ReplayModel:
    """A message goes back when it has lain for ``every_ms``, ``at_most`` times in all."""

    every_ms: int
    at_most: int


@dataclass(frozen=True, slots=True)
class ArchiveModel:
    """A message that has lain for ``after_ms`` is moved into a file. ``to`` is its path, with
    :data:`PLACEHOLDERS` in braces."""

    after_ms: int
    to: str


@dataclass(frozen=True, slots=True)
class AlertModel:
    """The limits of a queue: an alert is given when one is reached. ``age_ms`` is for lots."""

    depth: int | None = None
    age_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LotModel:
    """A lot: the name of its queue, and what is done with its messages by the clock."""

    name: str
    replay: ReplayModel | None = None
    archive: ArchiveModel | None = None
    alert: AlertModel | None = None
    line: int = field(default=0, compare=False)
    key_lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def line_of(self, *keys: str) -> int:
        """The line of the first of ``keys`` that the file has, else the lot's own."""
        return next((self.key_lines[key] for key in keys if key in self.key_lines), self.line)
