"""The book of drifts: what is not as declared now, told once when it is found and once when it is
over; and one line of the log for each look.

What a look mends is over at once, so it is told each time that it happens. What nobody mends stands
in the book until a look that could see it does not.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Protocol

from mqkit.drift.event import Drift
from mqkit.program_hook import ProgramHooks

STANDING_MAX = 10_000
"""Drifts that are remembered, some 5 MB. More have a line of the log, and no event, at each look:
somebody has changed the whole broker."""

TOLD_IN_A_LINE = 5
"""Drifts that a line names; the others are counted."""

_LOG = logging.getLogger(__name__)


class Sight(IntEnum):
    """The reach of a look: a wider one sees all that a narrower one does."""

    AMQP = 1
    MANAGEMENT = 2


class DriftStats(Protocol):
    """The counters that a book keeps."""

    drift_looks: int
    drifts: int
    drifts_mended: int


@dataclass(slots=True)
class _Standing:
    drift: Drift
    sight: Sight


class DriftBook:
    """The drifts of one app."""

    def __init__(self, hooks: ProgramHooks[Drift], stats: DriftStats) -> None:
        self._hooks = hooks
        self._stats = stats
        self._standing: dict[tuple[str, ...], _Standing] = {}

    def look(self, sight: Sight) -> Look:
        """Begin a look."""
        return Look(self, sight)

    def count_look(self) -> None:
        """A look has seen everything."""
        self._stats.drift_looks += 1

    @property
    def standing(self) -> tuple[Drift, ...]:
        """The drifts that are not over."""
        return tuple(entry.drift for entry in self._standing.values())

    def keys(self, sight: Sight) -> set[tuple[str, ...]]:
        """The keys of standing drifts that a look of ``sight`` would find."""
        return {key for key, entry in self._standing.items() if entry.sight <= sight}

    async def add(self, drift: Drift, sight: Sight) -> bool:
        """Tell ``drift`` unless it stands already; true if it is new."""
        if not drift.is_mended:
            if drift.key in self._standing:
                return False
            if len(self._standing) >= STANDING_MAX:
                return True
            self._standing[drift.key] = _Standing(drift, sight)
        self._stats.drifts += 1
        self._stats.drifts_mended += drift.is_mended
        await self._hooks.tell(drift)
        return True

    async def end(self, key: tuple[str, ...]) -> Drift | None:
        """The drift is over; ``None`` if another look has ended it."""
        entry = self._standing.pop(key, None)
        if entry is None:
            return None
        over = replace(entry.drift, is_over=True)
        await self._hooks.tell(over)
        return over


class Look:
    """One look: :meth:`note` what it finds, and :meth:`end` it when it has seen everything. One
    that is given up ends nothing; :meth:`say` what it has found."""

    def __init__(self, book: DriftBook, sight: Sight) -> None:
        self._book = book
        self._sight = sight
        # Those of now: another look may find more while this one is under way.
        self._unseen = book.keys(sight)
        self._found: list[Drift] = []
        self._over: list[Drift] = []

    async def note(self, drift: Drift, *, is_said: bool = False) -> None:
        """``drift`` is found. ``is_said``: the log has a line of it already."""
        self._unseen.discard(drift.key)
        if await self._book.add(drift, self._sight) and not is_said:
            self._found.append(drift)

    async def end(self) -> None:
        """Everything was seen: what was not found any more is over."""
        self._book.count_look()
        for key in self._unseen:
            over = await self._book.end(key)
            if over is not None:
                self._over.append(over)
        self.say()

    def say(self) -> None:
        """The line of the log, if there is something to say."""
        if self._found:
            _LOG.warning("drift: %s", _in_words(self._found))
            self._found = []
        if self._over:
            _LOG.warning("drift is over: %s", _in_words(self._over))
            self._over = []


def _in_words(drifts: list[Drift]) -> str:
    told = "; ".join(map(str, drifts[:TOLD_IN_A_LINE]))
    more = len(drifts) - TOLD_IN_A_LINE
    return f"{told}; and {more} more" if more > 0 else told
