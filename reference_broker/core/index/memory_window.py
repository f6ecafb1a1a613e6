"""Memory windows: the bytes of the first ready messages of each queue that are kept in memory.

A message behind the window is on disk, and in memory with its index entry only; it is read ahead as
the window empties (``queue/backlog.py``). A message that isn't on disk is always in memory.
"""

from __future__ import annotations

from bisect import bisect_left

from reference_broker.core.base.limits import MIB

MESSAGE_OVERHEAD_BYTES = 256
"""Accounted for each message in memory beside body and header: its route, the objects that hold
them, and its place in a dictionary. 220 to 350 bytes in CPython 3.11."""

LEASE_BYTES = 176
"""Accounted for each unacked delivery beside its message, to the channel that has it: the lease,
the delivery tag, and the places of both."""

RESIDENT_BYTES = 8 * MIB
"""Of one queue, accounted: what consumers take in 30 to 50 ms, in which a disk reads its half anew
several times."""

RESIDENT_BYTES_MIN = 16 * 1024
"""The least that a window shrinks to: some twenty small messages, so that a thousand queues with a
backlog each still read more than one message at a time."""

RESIDENT_TOTAL_BYTES = 128 * MIB
"""All windows together: an eighth of the default watermark."""


class MemoryWindow:
    """The size of each queue's window, one object for all queues of a broker. It shrinks while
    memory is short, and is never above ``largest_bytes``."""

    __slots__ = ("largest_bytes", "size_bytes")

    def __init__(self, largest_bytes: int = RESIDENT_BYTES) -> None:
        self.largest_bytes = largest_bytes
        self.size_bytes = largest_bytes
        """Accounted bytes: bodies, and MESSAGE_OVERHEAD_BYTES for each message."""


class Demands:
    """The bytes that queues would hold in memory without a window, of however many queues: each
    costs one addition. They are kept by the smallest window that a demand fits into, of
    ``largest_bytes`` and its halves."""

    __slots__ = ("_counts", "_largest_bytes", "_sizes", "_sums")

    def __init__(self, largest_bytes: int) -> None:
        self._largest_bytes = largest_bytes
        self._sizes = [largest_bytes]
        while self._sizes[-1] > RESIDENT_BYTES_MIN:
            self._sizes.append(self._sizes[-1] // 2)
        self._sizes.reverse()
        self._counts = [0] * (len(self._sizes) + 1)
        self._sums = [0] * (len(self._sizes) + 1)

    def add(self, demand: int) -> None:
        """Add what one queue would hold."""
        place = bisect_left(self._sizes, demand)
        self._counts[place] += 1
        self._sums[place] += demand

    def fair_window(self, total_bytes: int, narrowing: int = 1) -> int:
        r"""The largest window with which all queues stay under ``total_bytes`` together, of the
        ``narrowing``\ th part of the largest one, and its halves. It is never below
        ``RESIDENT_BYTES_MIN``, unless that part is. ``narrowing`` is a power of two."""
        most = self._largest_bytes // narrowing
        window = min(RESIDENT_BYTES_MIN, most)
        fitting, larger = 0, sum(self._counts)
        for size, total, count in zip(self._sizes, self._sums, self._counts, strict=False):
            fitting += total
            larger -= count
            if size > most or fitting + larger * size > total_bytes:
                break
            window = max(window, size)
        return window
