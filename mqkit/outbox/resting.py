"""Partitions that rest after a message that was neither confirmed nor refused. Pure.

Each rests longer after each such window, and is forgotten after a good one; there are no more
entries than partitions.
"""

from __future__ import annotations

from collections.abc import Iterable

REST_FIRST_S = 0.5
REST_MAX_S = 30.0
"""A queue that is full may have room again by then."""


class Resting:
    """The times until which partitions rest, by a monotonic clock."""

    def __init__(self) -> None:
        self._until_s: dict[int, float] = {}
        self._times: dict[int, int] = {}

    def after(self, worked_on: Iterable[int], failed: set[int], now_s: float) -> None:
        """A window is over: its partitions rest if they ``failed``, and are fresh if not."""
        for number in worked_on:
            if number in failed:
                times = self._times[number] = self._times.get(number, 0) + 1
                rest_s = min(REST_MAX_S, REST_FIRST_S * 2 ** min(times - 1, 10))
                self._until_s[number] = now_s + rest_s
            else:
                self._times.pop(number, None)
                self._until_s.pop(number, None)

    def at(self, now_s: float) -> set[int]:
        """The partitions that rest."""
        return {number for number, until_s in self._until_s.items() if until_s > now_s}

    def soonest_s(self, now_s: float) -> float | None:
        """The seconds until the first of them is due; ``None`` if none rests."""
        left = [until_s - now_s for until_s in self._until_s.values() if until_s > now_s]
        return min(left, default=None)
