"""A clock that stands still until a test moves it.

    clock = FakeClock()
    task = asyncio.create_task(code_under_test(clock))
    await clock.until_waiting(1)      # it has gone to sleep
    clock.advance(5.0)                # and wakes at once

Moving the clock wakes whoever is due, in the order of their deadlines; nothing takes real time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager


class _Alarm:
    """Something to call once at a moment; taken back by :meth:`FakeClock._forget`."""

    __slots__ = ("at_s", "ring")

    def __init__(self, at_s: float, ring: Callable[[], None]) -> None:
        self.at_s = at_s
        self.ring = ring


class FakeClock:
    """A :class:`mqkit.timing.clock.Clock` for one event loop."""

    def __init__(self, start_s: float = 1000.0) -> None:
        self._now_s = start_s
        self._alarms: list[_Alarm] = []
        self._changed = asyncio.Event()

    def monotonic_s(self) -> float:
        return self._now_s

    @property
    def waiting(self) -> int:
        """The number of sleeps and timeouts that are pending."""
        return len(self._alarms)

    def advance(self, delay_s: float) -> None:
        """Move time on by ``delay_s`` seconds and wake whoever is due, earliest first."""
        self._now_s += delay_s
        due = sorted(
            (alarm for alarm in self._alarms if alarm.at_s <= self._now_s),
            key=lambda alarm: alarm.at_s,
        )
        for alarm in due:
            self._forget(alarm)
            alarm.ring()

    async def until_waiting(self, number: int) -> None:
        """Return once at least ``number`` sleeps and timeouts are pending."""
        while self.waiting < number:
            self._changed.clear()
            await self._changed.wait()

    async def sleep(self, delay_s: float) -> None:
        if delay_s <= 0:
            await asyncio.sleep(0)
            return
        awake = asyncio.Event()
        alarm = self._set(delay_s, awake.set)
        try:
            await awake.wait()
        finally:
            self._forget(alarm)

    def timeout(self, delay_s: float | None) -> AbstractAsyncContextManager[object]:
        if delay_s is None:
            return asyncio.timeout(None)
        if delay_s <= 0:
            return asyncio.timeout(0)
        return self._timeout(delay_s)

    @asynccontextmanager
    async def _timeout(self, delay_s: float) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as timeout:
            alarm = self._set(delay_s, lambda: timeout.reschedule(loop.time()))
            try:
                yield
            finally:
                self._forget(alarm)

    def _set(self, delay_s: float, ring: Callable[[], None]) -> _Alarm:
        alarm = _Alarm(self._now_s + delay_s, ring)
        self._alarms.append(alarm)
        self._changed.set()
        return alarm

    def _forget(self, alarm: _Alarm) -> None:
        if alarm in self._alarms:
            self._alarms.remove(alarm)
