"""Foreign ranges: the entries of other segments that a segment acks or requeues.

Those of the segment in use are kept until it is sealed, for its footer; of the other segments' only
the bytes are counted (:attr:`SegmentUse.references`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class EntryRanges:
    """Entries as (queue id, first, last), both ends included: 16 bytes each, and neighbours that
    follow each other are one."""

    __slots__ = ("_bounds", "_closed", "count")

    def __init__(self) -> None:
        self._closed: list[tuple[int, int, int]] = []
        self._bounds: dict[int, array[int]] = {}
        self.count = 0
        """The number of ranges."""

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        yield from self._closed
        for queue_id, bounds in self._bounds.items():
            for index in range(0, len(bounds), 2):
                yield queue_id, bounds[index], bounds[index + 1]

    def bounds(self, queue_id: int) -> array[int]:
        """First and last of each range of a queue that was added to, alternately: the last one
        may be raised in place, until :meth:`close`."""
        return self._bounds[queue_id]

    def close(self) -> None:
        """Leave the ranges as they are: entries added from now on take ranges of their own."""
        self._closed = list(self)
        self._bounds.clear()

    def add(self, queue_id: int, first: int, last: int) -> bool:
        """Add a range; ``False`` when it went into the newest one. Adding it twice is harmless."""
        bounds = self._bounds.get(queue_id)
        if bounds is None:
            self._bounds[queue_id] = array("Q", (first, last))
        elif bounds[-1] + 1 == first:
            bounds[-1] = last
            return False
        else:
            bounds.extend((first, last))
        self.count += 1
        return True


class ForeignRanges:
    """The entries of one segment that another one acks and requeues."""

    __slots__ = ("acked", "requeued")

    def __init__(self) -> None:
        self.acked = EntryRanges()
        self.requeued = EntryRanges()

    def close(self) -> None:
        """The ranges so far are being baked; later ones have to be counted anew."""
        self.acked.close()
        self.requeued.close()

    def __len__(self) -> int:
        """The number of ranges, of both kinds."""
        return self.acked.count + self.requeued.count
