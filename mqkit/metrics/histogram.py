"""A histogram of seconds: a cell for each bucket, and no object for each value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

DURATION_BUCKETS_S = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
"""Upper bounds for handlers and confirms. A confirm is a sync of a disk, so about a millisecond at
the least; five minutes are a handler that works for long."""

AGE_BUCKETS_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)
"""Upper bounds for the ages of messages, which AMQP has in whole seconds; the last is a day."""


@dataclass(frozen=True, slots=True)
class HistogramValues:
    """A histogram at one moment. ``bounds_s`` are the upper bounds of the buckets, each included;
    ``counts`` has one number more, that of values above the last. They are not cumulative."""

    bounds_s: tuple[float, ...]
    counts: tuple[int, ...]
    sum_s: float

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts)


class Histogram:
    """The cells that are counted in."""

    __slots__ = ("_bounds_s", "_counts", "_sum_s")

    def __init__(self, bounds_s: Sequence[float] = DURATION_BUCKETS_S) -> None:
        self._bounds_s = tuple(bounds_s)
        self._counts = [0] * (len(self._bounds_s) + 1)
        self._sum_s = 0.0

    def observe(self, value_s: float) -> None:
        """Count a value of so many seconds."""
        self._counts[bisect_left(self._bounds_s, value_s)] += 1
        self._sum_s += value_s

    def observe_all(self, value_s: float, number: int) -> None:
        """Count ``number`` values of so many seconds each."""
        self._counts[bisect_left(self._bounds_s, value_s)] += number
        self._sum_s += value_s * number

    @property
    def values(self) -> HistogramValues:
        """The histogram as it is now."""
        return HistogramValues(self._bounds_s, tuple(self._counts), self._sum_s)
