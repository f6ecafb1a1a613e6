"""Watermarks: numbers that only rise, and what waits for them to do so.

How far the disk is (``journal.synced``) is one. A broker that is one of several has more: how far
the replicas of a queue are, how far a remote leader has confirmed, which revision of the metadata
every node has seen. A promise to a client may wait for several of them (:class:`Wait`).
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from reference_broker.core.work.until import Until


class Watermark:
    """A number that only rises. ``value`` is what it has reached."""

    __slots__ = ("_numbers", "_waiting", "value")

    def __init__(self, value: int = 0) -> None:
        self.value = value
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def __len__(self) -> int:
        """The number of those that wait."""
        return len(self._waiting)

    def when_at(self, value: int, reached: Callable[[], None]) -> None:
        """Have ``reached`` called once the watermark is at ``value`` or above; it is below now.
        Those of one value are called in the order in which they came."""
        heappush(self._waiting, (value, next(self._numbers), reached))

    def reaches(self, value: int) -> Until:
        """The event that the watermark is at ``value`` or above; it is below now."""
        until = Until()
        self.when_at(value, until.happened)
        return until

    def rise(self, value: int) -> None:
        """The watermark has reached ``value``; a lower one than before says nothing."""
        if value <= self.value:
            return
        self.value = value
        waiting = self._waiting
        while waiting and waiting[0][0] <= value:
            heappop(waiting)[2]()


class Wait(NamedTuple):
    """The conditions of a promise: the log's ``position`` on disk, and every watermark of ``marks``
    at its number."""

    position: int
    marks: tuple[tuple[Watermark, int], ...] = ()
