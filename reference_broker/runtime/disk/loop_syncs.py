"""The choice between the loop and the disk thread for a small batch.

Handing a batch to the thread and back costs more than a quick disk's fdatasync. So the loop itself
writes and syncs a batch that is small and :attr:`Batch.in_place`, and measures how long that takes.
A disk that was slow once is left to the thread for a second, and twice as long when it is slow
again in the second after its rest: one which hiccups holds the loop up once in a while, and not by
habit. (An idle disk of a shared machine is slow every second or so.)

A batch above :data:`LOOP_BYTES` is the work of milliseconds, and what arrives meanwhile can be
worked on while the thread waits for the disk; below it there is not so much that waits: a turn
reads all sockets that have something before its batch is made.
"""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.store import Batch

LOOP_BYTES = 128 * 1024
"""Of a batch that the loop writes by itself, at most: one write call."""

SLOW_S = 0.005
"""A write and a sync that take longer are the thread's: sockets wait for so long. A turn's budget
of work lets them wait for as much."""

REST_S = 1.0
"""The loop leaves the disk to the thread after the first slow sync."""

FORGIVEN_S = 1.0
"""A slow sync counts as the first one where none was slow for so long after the last rest."""

REST_MAX_S = 64.0
"""The longest rest, so that a disk that is quick again is found to be so."""


class LoopSyncs:
    """Says whether the loop may write and sync a batch by itself, from how long that took lately.
    ``clock`` returns seconds, which go on within a turn (uvloop's own time stands still there)."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._rest_s = REST_S
        self._resting_until = clock()
        self._forgiven_at = clock()

    def may_take(self, batch: Batch) -> bool:
        """The loop may perform this batch. Then measure it, and say so by :meth:`took`."""
        return (
            batch.in_place
            and batch.size_bytes <= LOOP_BYTES
            and self.clock() >= self._resting_until
        )

    def took(self, began: float) -> None:
        """The loop has performed a batch, from ``began`` until now."""
        now = self.clock()
        if now - began > SLOW_S:
            self._resting_until = now + self._rest_s
            self._rest_s = min(2 * self._rest_s, REST_MAX_S)
            self._forgiven_at = self._resting_until + FORGIVEN_S
        elif now >= self._forgiven_at:
            self._rest_s = REST_S
