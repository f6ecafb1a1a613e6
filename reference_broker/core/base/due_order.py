"""Which of many sequences is due next, at 8 bytes for each that is not due soon.

What is due in the same second waits in one bucket, unsorted. When its second begins the bucket is
opened: its sequences move to a heap of (due, sequence), in which what is due at the same
millisecond leaves in order of arrival. Adding costs O(log n) of the buckets or of the open ones.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable

BUCKET_MS = 1_000
"""A wider bucket puts more objects into the heap, a narrower one makes more buckets: a million
messages over a day are 86,400 of them, 12 MB."""


NEAR_BYTES = 136
"""Accounted for each sequence in an open bucket: a tuple of two numbers."""


class DueOrder:
    """Sequences by the wall-clock milliseconds at which they are due."""

    __slots__ = ("_buckets", "_near", "_numbers", "_opened")

    def __init__(self) -> None:
        self._buckets: dict[int, array[int]] = {}
        self._numbers: list[int] = []
        """The keys of ``_buckets``, as a heap."""
        self._near: list[tuple[int, int]] = []
        self._opened = -1
        """The highest bucket that was opened. What comes later for it goes to the heap."""

    def __len__(self) -> int:
        return len(self._near) + sum(len(bucket) for bucket in self._buckets.values())

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of what is in open buckets. The others are arrays."""
        return len(self._near) * NEAR_BYTES

    def add(self, due_ms: int, sequence: int) -> None:
        number = due_ms // BUCKET_MS
        if number <= self._opened:
            heapq.heappush(self._near, (due_ms, sequence))
            return
        bucket = self._buckets.get(number)
        if bucket is None:
            bucket = self._buckets[number] = array("Q")
            heapq.heappush(self._numbers, number)
        bucket.append(sequence)

    def open(self, now_ms: int, due_of: Callable[[int], int | None], most: int) -> int:
        """Open the buckets whose second has begun, for ``most`` of their sequences: returns for how
        many, and :attr:`is_half_open` says that there are more. ``due_of`` says when a sequence is
        due, as :meth:`add` was told, and ``None`` to leave it out."""
        self._opened = max(self._opened, now_ms // BUCKET_MS)
        opened = 0
        while opened < most and self.is_half_open:
            number = self._numbers[0]
            bucket = self._buckets[number]
            part = bucket[: most - opened]
            del bucket[: len(part)]
            for sequence in part:
                due_ms = due_of(sequence)
                if due_ms is not None:
                    heapq.heappush(self._near, (due_ms, sequence))
            opened += len(part)
            if not bucket:
                del self._buckets[heapq.heappop(self._numbers)]
        return opened

    @property
    def is_half_open(self) -> bool:
        """True while sequences of buckets whose second has begun are not in the heap yet: the head
        is not for sure the one that is due first."""
        return bool(self._numbers) and self._numbers[0] <= self._opened

    def head(self) -> tuple[int, int] | None:
        """The (due, sequence) that is due first in the open buckets."""
        return self._near[0] if self._near else None

    def pop(self) -> None:
        """The head is done with."""
        heapq.heappop(self._near)

    def near(self, most: int) -> list[tuple[int, int]]:
        """The first ``most`` of the open buckets, in order."""
        # Not nsmallest, which looks at all of them: with 200,000 that is a turn of 10 ms.
        near = self._near
        first = [heapq.heappop(near) for _ in range(min(most, len(near)))]
        for each in first:
            heapq.heappush(near, each)
        return first

    def next_ms(self) -> int | None:
        """When to look again: the head is due, or a bucket is to be opened. ``None`` for never."""
        if self._near:
            return self._near[0][0]
        return self._numbers[0] * BUCKET_MS if self._numbers else None
