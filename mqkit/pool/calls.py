"""The calls of publish under way, and their deadlines: one sleeping task for all of them.

A timer of its own for each call would cost more than the rest of the call. Deadlines stand in a
heap; those of calls that are over stay there until they are due, or until they outnumber the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Protocol

from mqkit.timing.clock import Clock

_KEPT = 64
"""Deadlines of ended calls that the heap may keep: so few are not worth a tidying."""


class Call(Protocol):
    """One call of ``publish`` or ``publish_batch``."""

    done: asyncio.Future[Any]
    """Done when the call can return."""

    def expire(self) -> None:
        """Time is over: the call ends with what has come so far."""
        ...

    def fail(self, error: BaseException) -> None:
        """The call ends with an error."""
        ...


class Calls:
    """Begin each call with :meth:`begin` and end it with :meth:`end`. For one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = count()
        self._calls: dict[int, Call] = {}
        self._deadlines: list[tuple[float, int]] = []
        """A heap of moments, and numbers of calls. Calls are not in it: they hold messages."""
        self._task: asyncio.Task[None] | None = None
        self._wakes_s = 0.0

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(tuple(self._calls.values()))

    def begin(self, call: Call, allowed_s: float) -> int:
        """The call is expired after so many seconds; returns what :meth:`end` needs."""
        number = next(self._numbers)
        due_s = self._clock.monotonic_s() + allowed_s
        self._calls[number] = call
        heappush(self._deadlines, (due_s, number))
        if self._task is None or due_s < self._wakes_s:
            self._watch(due_s)
        return number

    def end(self, number: int) -> None:
        """The call is over. Idempotent."""
        self._calls.pop(number, None)
        if len(self._deadlines) > 2 * len(self._calls) + _KEPT:
            self._deadlines = [each for each in self._deadlines if each[1] in self._calls]
            heapify(self._deadlines)

    def close(self) -> None:
        """Watch no deadlines any more. Idempotent."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _watch(self, due_s: float) -> None:
        """Wake at that moment, which comes before any other."""
        self.close()
        self._wakes_s = due_s
        self._task = asyncio.create_task(self._expire_when_due())

    async def _expire_when_due(self) -> None:
        while self._deadlines:
            self._wakes_s = self._deadlines[0][0]
            await self._clock.sleep(self._wakes_s - self._clock.monotonic_s())
            self._expire(self._clock.monotonic_s())
        self._task = None

    def _expire(self, now_s: float) -> None:
        while self._deadlines and self._deadlines[0][0] <= now_s:
            _, number = heappop(self._deadlines)
            if (call := self._calls.get(number)) is not None:
                call.expire()
