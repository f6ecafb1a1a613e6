"""The times at which the app's event loop did not get to run: nobody could be in time then."""

from __future__ import annotations

from bisect import bisect_right


class Starvation:
    """Add each time with :meth:`add`, in order."""

    def __init__(self) -> None:
        self._since: list[float] = []
        self._until: list[float] = []
        self.total_s = 0.0
        self.own_cpu_s = 0.0
        """The part of it that the process spent by itself."""

    def add(self, since: float, until: float, own_cpu_s: float = 0.0) -> None:
        self._since.append(since)
        self._until.append(until)
        self.total_s += until - since
        self.own_cpu_s += own_cpu_s

    def within(self, begin: float, end: float) -> float:
        """The seconds between ``begin`` and ``end`` that were lost."""
        lost = 0.0
        place = bisect_right(self._until, begin)
        while place < len(self._since) and self._since[place] < end:
            lost += min(end, self._until[place]) - max(begin, self._since[place])
            place += 1
        return lost
