"""Memory windows: the bytes of the first ready messages of each queue that are kept in memory.

A message behind the window is on disk, and in memory with its index entry only; it is read ahead as
the window empties (``queue/backlog.py``). A message that isn't on disk is always in memory.
"""

from __future__ import annotations

from reference_broker.core.base.limits import MIB

MESSAGE_OVERHEAD_BYTES = 512
"""Accounted for each message in memory beside body and header: its route, the objects that hold
them, and its places in dictionaries. 440 to 520 bytes in CPython 3.11."""

INDEX_ENTRY_BYTES = 24
"""Accounted for each index entry, whether its message is in memory or not: 17 in its columns, or 25
with an expiry, and what growing arrays hold in reserve."""

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


def fair_window(demands: list[int], total_bytes: int, largest_bytes: int) -> int:
    """The largest window, of ``largest_bytes`` and its halves, with which queues that would hold
    ``demands`` bytes without one stay under ``total_bytes`` together."""
    size_bytes = largest_bytes
    while (
        size_bytes > RESIDENT_BYTES_MIN
        and sum(min(demand, size_bytes) for demand in demands) > total_bytes
    ):
        size_bytes //= 2
    return max(size_bytes, min(RESIDENT_BYTES_MIN, largest_bytes))
