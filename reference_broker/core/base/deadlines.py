"""Every wall-clock deadline of the core, in one index of time buckets (law 6 of the design).

A dict of buckets, and a heap of the bucket numbers. A queue holds at most two deadlines (its head's
expiry, its own ``x-expires``), never one per message, so this stays small with millions of
messages waiting.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

GRANULARITY_MS = 10
"""Width of a bucket. A deadline runs up to this late, never early: TTLs are given in milliseconds,
but a message that lives 10 ms longer harms nobody, and thousands of queues then share a bucket."""

MAX_CANCELLED_DEADLINES = 1024
"""A cancelled deadline is left in its bucket until the bucket is due, which may be ten years away.
Above this many (and more than half of all) the index is rebuilt without them."""


DEADLINE_BYTES = 280
"""Accounted for each: its callback, and its place in a bucket that few may share."""


class Deadline:
    """A callback that runs once, unless :meth:`cancel` is called first."""

    __slots__ = ("_callback", "_index", "when_ms")

    def __init__(self, when_ms: int, callback: Callable[[], None], deadlines: Deadlines) -> None:
        self.when_ms = when_ms
        self._callback: Callable[[], None] | None = callback
        self._index: Deadlines | None = deadlines

    @property
    def pending(self) -> bool:
        """Neither run nor cancelled."""
        return self._callback is not None

    def cancel(self) -> None:
        """The callback will not run. Does nothing when it already has."""
        if self._callback is not None:
            self._callback = None
            if self._index is not None:
                self._index._note_cancelled()

    def _leave(self) -> bool:
        """Out of the index, to be run; false when it was cancelled before."""
        self._index = None
        return self.pending

    def _run(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Deadlines:
    """The index. ``at`` adds, ``next_ms`` says when to come back, ``fire`` runs what is due."""

    def __init__(self) -> None:
        self._buckets: dict[int, list[Deadline]] = {}
        self._numbers: list[int] = []
        self._cancelled = 0
        self._size = 0

    def __len__(self) -> int:
        """Deadlines that will still run."""
        return self._size - self._cancelled

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of all, of cancelled ones too."""
        return self._size * DEADLINE_BYTES

    def at(self, when_ms: int, callback: Callable[[], None]) -> Deadline:
        """Run ``callback`` in the first :meth:`fire` at or after ``when_ms`` (wall-clock ms)."""
        deadline = Deadline(when_ms, callback, self)
        self._put(deadline)
        return deadline

    def next_ms(self) -> int | None:
        """The wall-clock ms at which :meth:`fire` has something to do; ``None`` for never."""
        return self._numbers[0] * GRANULARITY_MS if self._numbers else None

    def fire(self, wall_ms: int) -> None:
        """Run what is due, in order of (bucket, insertion).

        A callback may add and cancel deadlines; one that it adds for a time that has come already
        runs at the next call, so a callback that re-arms itself cannot hold the broker up.
        """
        due: list[Deadline] = []
        while self._numbers and self._numbers[0] * GRANULARITY_MS <= wall_ms:
            due += self._buckets.pop(heapq.heappop(self._numbers))
        self._size -= len(due)
        self._cancelled -= sum(not deadline._leave() for deadline in due)
        for deadline in due:
            deadline._run()

    def _put(self, deadline: Deadline) -> None:
        number = -(-deadline.when_ms // GRANULARITY_MS)
        bucket = self._buckets.get(number)
        if bucket is None:
            self._buckets[number] = bucket = []
            heapq.heappush(self._numbers, number)
        bucket.append(deadline)
        self._size += 1

    def _note_cancelled(self) -> None:
        self._cancelled += 1
        if self._cancelled > MAX_CANCELLED_DEADLINES and self._cancelled * 2 > self._size:
            pending = [d for bucket in self._buckets.values() for d in bucket if d.pending]
            self._buckets.clear()
            self._numbers.clear()
            self._size = self._cancelled = 0
            for deadline in pending:
                self._put(deadline)
