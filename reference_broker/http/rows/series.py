"""The history of one object's counters: samples five seconds apart, and how fast they move.

A sample is kept only where it differs from the one before, so an idle object costs nothing but its
last one. The older a sample is, the fewer are kept: each level has its step and its length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

STEP_MS = 5_000
"""Milliseconds between two samples (RabbitMQ's ``collect_statistics_interval``)."""


class Level(NamedTuple):
    """The age up to which samples of one step are kept."""

    step_ms: int
    length: int


BASIC = (Level(STEP_MS, 120), Level(60_000, 60))
"""RabbitMQ's retention for most objects: ten minutes, and an hour at a minute's step."""

GLOBAL = (*BASIC, Level(600_000, 48), Level(1_800_000, 48))
"""Retention for the broker as a whole: eight hours and a day as well."""

RATE_ONLY = (Level(STEP_MS, 2),)
"""Retention where there are too many objects to keep a history of each."""

Values: TypeAlias = tuple[int, ...]


class Series:
    """Samples of a tuple of counters, which all have the same places in each.

    ``first_ms`` and ``last_ms`` are the times of the first and the latest sample, in wall-clock
    milliseconds; ``round`` is the sampler's.
    """

    __slots__ = ("_levels", "_samples", "first_ms", "last_ms", "round")

    def __init__(self, levels: Sequence[Level]) -> None:
        self._levels = levels
        self._samples: list[deque[tuple[int, Values]]] = [
            deque(maxlen=level.length + 1) for level in levels
        ]
        self.first_ms = self.last_ms = 0
        self.round = 0

    def add(self, at_ms: int, values: Values) -> None:
        """Add a sample, which is later than the last one."""
        self.first_ms = self.first_ms or at_ms
        self.last_ms = at_ms
        for level, samples in zip(self._levels, self._samples, strict=True):
            if samples:
                latest_ms, latest = samples[-1]
                if latest == values or at_ms // level.step_ms == latest_ms // level.step_ms:
                    continue
            samples.append((at_ms, values))

    def at(self, place: int, at_ms: int) -> int:
        """A counter as it was at a time: 0 before the first sample, as RabbitMQ shows it."""
        if at_ms < self.first_ms:
            return 0
        known = self._samples[0]
        for samples in self._samples:
            known = samples
            if samples[0][0] <= at_ms:
                break
        for taken_ms, values in reversed(known):
            if taken_ms <= at_ms:
                return values[place]
        return known[0][1][place] if known else 0

    @property
    def changed_ms(self) -> int:
        """The time since when nothing has moved, in wall-clock milliseconds."""
        samples = self._samples[0]
        return samples[-1][0] if samples else 0

    def rate(self, place: int) -> float:
        """Change of a counter per second, between the last two samples; 0 until there are two."""
        before_ms = self.last_ms - STEP_MS
        if before_ms < self.first_ms:
            return 0.0
        moved = self.at(place, self.last_ms) - self.at(place, before_ms)
        return moved * 1000 / STEP_MS

    def samples(self, place: int, age_s: int, incr_s: int) -> list[tuple[int, int]]:
        """Times and values, newest first, ``incr_s`` apart, over ``age_s``."""
        incr_ms = incr_s * 1000
        newest = self.last_ms // incr_ms * incr_ms
        times = [newest - number * incr_ms for number in range(age_s // incr_s + 1)]
        return [(at_ms, self.at(place, at_ms)) for at_ms in times]


class SeriesSum:
    """Several series as one, of the same counters. There must be one at least."""

    __slots__ = ("_series",)

    def __init__(self, series: Sequence[Series]) -> None:
        self._series = series

    def rate(self, place: int) -> float:
        """See :meth:`Series.rate`."""
        return sum(each.rate(place) for each in self._series)

    def samples(self, place: int, age_s: int, incr_s: int) -> list[tuple[int, int]]:
        """See :meth:`Series.samples`. Within a round of the sampler some may be a sample behind:
        the first one's times stand for all."""
        each = [series.samples(place, age_s, incr_s) for series in self._series]
        return [(row[0][0], sum(value for _, value in row)) for row in zip(*each, strict=True)]
