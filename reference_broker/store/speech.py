"""What one segment says about another: which of its entries are done with, which came back.

Kept so that it can be said again elsewhere: a segment that holds nothing else is then deleted,
although the one that it speaks about has to stay.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class EntryRanges:
    """Entries as (queue id, first, last), both ends included: 16 bytes each, and neighbours that
    follow each other are one."""

    __slots__ = ("_bounds",)

    def __init__(self) -> None:
        self._bounds: dict[int, array[int]] = {}

    def __len__(self) -> int:
        return sum(len(bounds) // 2 for bounds in self._bounds.values())

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        for queue_id, bounds in self._bounds.items():
            for index in range(0, len(bounds), 2):
                yield queue_id, bounds[index], bounds[index + 1]

    def add(self, queue_id: int, first: int, last: int) -> None:
        """Entries that are not here yet, or are: saying something twice changes nothing."""
        bounds = self._bounds.get(queue_id)
        if bounds is None:
            self._bounds[queue_id] = array("Q", (first, last))
        elif bounds[-1] + 1 == first:
            bounds[-1] = last
        else:
            bounds.extend((first, last))


class Speech:
    """All that one segment says about one other."""

    __slots__ = ("acked", "requeued")

    def __init__(self) -> None:
        self.acked = EntryRanges()
        self.requeued = EntryRanges()

    def __len__(self) -> int:
        """Ranges that it takes to say it again."""
        return len(self.acked) + len(self.requeued)
