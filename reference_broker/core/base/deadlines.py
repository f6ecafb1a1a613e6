"""Every wall-clock deadline of the core, in one index of time buckets (law 6 of the design).

A dict of buckets, and a heap of the bucket numbers. A queue holds at most two deadlines (its head's
expiry, its own ``x-expires``), never one per message, so this stays small with millions of
messages waiting. Those of many queues or connections may be due at once, and run in portions.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Protocol

GRANULARITY_MS = 10
"""Width of a bucket. A deadline runs up to this late, never early: TTLs are given in milliseconds,
but a message that lives 10 ms longer harms nobody, and thousands of queues then share a bucket."""

MAX_CANCELLED_DEADLINES = 1024
"""A cancelled deadline is left in its bucket until the bucket is due, which may be ten years away.
Above this many (and more than half of all) the index is rebuilt without them."""


DEADLINE_BYTES = 280
"""Accounted for each: its callback, and its place in a bucket that few may share."""


class Units(Protocol):
    """The budget of a turn, as far as deadlines take part in it."""

    left: int


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

    def _leave(self) -> Callable[[], None] | None:
        """Out of the index: returns what is to be called, if it was not cancelled before."""
        self._index = None
        callback, self._callback = self._callback, None
        return callback


class Deadlines:
    """The index. ``at`` adds, ``next_ms`` says when to come back, ``fire`` runs what is due."""

    def __init__(self) -> None:
        self._buckets: dict[int, list[Deadline]] = {}
        self._numbers: list[int] = []
        self._due: deque[Deadline] = deque()
        """Those whose time has come, and for which no turn had time so far."""
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
        """The wall-clock ms at which more is due; ``None`` for never. What :meth:`fire` has left
        over does not count."""
        return self._numbers[0] * GRANULARITY_MS if self._numbers else None

    def fire(self, wall_ms: int, budget: Units) -> bool:
        """Run what is due, in order of (bucket, insertion), until the budget is spent. False when
        some is left over: call again in a later turn.

        A callback costs a unit, and what it takes itself. It may add and cancel deadlines; one that
        it adds for a time that has come already runs at the next call, so a callback that re-arms
        itself cannot hold the broker up. One that raises has run, and the rest is left over.
        """
        due = self._due
        while len(due) < budget.left and self._is_due(wall_ms):
            due += self._buckets.pop(heapq.heappop(self._numbers))
        more = self._is_due(wall_ms)
        while due and budget.left > 0:
            callback = due.popleft()._leave()
            self._size -= 1
            try:
                if callback is None:
                    self._cancelled -= 1
                else:
                    callback()
            finally:
                budget.left -= 1  # not before: it does nothing without a unit, and comes again
        return not (due or more)

    def _is_due(self, wall_ms: int) -> bool:
        return bool(self._numbers) and self._numbers[0] * GRANULARITY_MS <= wall_ms

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
            for _ in range(len(self._due)):  # in its place: it may be running
                deadline = self._due.popleft()
                if deadline.pending:
                    self._due.append(deadline)
            self._size, self._cancelled = len(self._due), 0
            for deadline in pending:
                self._put(deadline)
