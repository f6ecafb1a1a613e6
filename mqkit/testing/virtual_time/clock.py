"""A clock that stands still until a test moves it, and the broker's with it.

    app = mqkit.App(broker.url, clock=broker.clock)
    ...
    await broker.clock.advance("5m")             # in an async test
    broker.clock.blocking.advance("5m")          # in another

``advance`` goes from one moment at which something is due to the next, in order, and returns when
what became due is delivered and settled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Lock

from mqkit.errors import ConfigurationError
from mqkit.testing.virtual_time.advance import US_PER_MS, Advance
from mqkit.testing.virtual_time.alarms import Alarm, Alarms
from mqkit.testing.virtual_time.ports import TimedBroker
from mqkit.testing.virtual_time.settling import Settling
from mqkit.timing.app_clock import OF_CONSUMER, Working
from mqkit.timing.seconds import Span, seconds

WITHIN_S = 5.0
"""Real seconds in which what became due at one moment has to be settled, unless said otherwise."""

US_PER_S = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class VirtualClock:
    """An :class:`~mqkit.timing.app_clock.AppClock`, for any number of event loops and threads.

    Made by ``broker.clock``, and from then on the broker's own time stands still, too.
    """

    def __init__(self, broker: TimedBroker) -> None:
        self._broker = broker
        self._alarms = Alarms()
        self._settling = Settling(broker, self._alarms)
        self._now_us = broker.stop_clock() * US_PER_MS
        self._moving = Lock()
        self._has_ended = False
        self.told: Callable[[int], None] | None = None
        """The function that is told of each :meth:`advance` that came to its end, with its
        ``holding``; while a recording is under way."""
        self.blocking = BlockingClock(self)
        """The same clock for threads without an event loop."""

    # -- reading and waiting -----------------------------------------------------------------

    def monotonic_s(self) -> float:
        return self._now_us / US_PER_S

    def utc_now(self) -> datetime:
        """The time of day, which is the broker's."""
        return _EPOCH + timedelta(microseconds=self._now_us)

    async def sleep(self, delay_s: Span) -> None:
        """Return when time was moved on by so many seconds, or by a span like "5m". A handler that
        waits here has its message in hand, and time goes on all the same."""
        delay_s = seconds(delay_s, "delay_s")
        if not delay_s or self._has_ended:
            await asyncio.sleep(delay_s)
            return
        awake = asyncio.Event()
        alarm = self._set(delay_s, awake.set, works=False)
        try:
            await awake.wait()
        finally:
            self._alarms.forget(alarm)

    def timeout(self, delay_s: float | None) -> AbstractAsyncContextManager[object]:
        """See :class:`~mqkit.timing.clock.Clock`."""
        if delay_s is None or delay_s <= 0 or self._has_ended:
            return asyncio.timeout(delay_s if delay_s is None else max(0.0, delay_s))
        return self._timeout(delay_s, works=False)

    def limit(self, delay_s: float) -> AbstractAsyncContextManager[object]:
        """See :class:`~mqkit.timing.app_clock.AppClock`."""
        return self._timeout(delay_s, works=True)

    def watch(self, working: Working) -> None:
        """See :class:`~mqkit.timing.app_clock.AppClock`."""
        self._settling.watch(asyncio.get_running_loop(), working)

    @property
    def is_moving(self) -> bool:
        """True while an ``advance`` is under way."""
        return self._moving.locked()

    # -- moving ------------------------------------------------------------------------------

    async def advance(self, span: Span, *, holding: int = 0, within: Span = WITHIN_S) -> None:
        """Move time on by ``span``: what becomes due meanwhile happens at its time, in order, and
        is delivered and settled before time goes on.

        ``holding`` messages may be in the hands of consumers from the beginning, as long as it
        takes: those whose handlers hang on purpose. Raises
        :exc:`~mqkit.testing.virtual_time.settling.NotSettled` where what became due at one moment
        was not settled ``within`` so much real time, and says what is missing.
        """
        self._settling.watch(asyncio.get_running_loop())
        await asyncio.to_thread(self._advance, span, holding, within)

    def end(self) -> None:
        """Wake everybody who waits, and have the broker's time run on. Who waits from now on
        does so in real time. Idempotent."""
        if not self._has_ended:
            self._has_ended = True
            self.wake_all()
            self._broker.run_clock()

    def wake_all(self) -> None:
        """Wake everybody who waits, as if their time had come: at the end of a test."""
        self._alarms.ring(None)

    def _advance(self, span: Span, holding: int, within: Span) -> None:
        span_us = round(seconds(span, "span") * US_PER_S)
        within_s = seconds(within, "within")
        if not self._moving.acquire(blocking=False):
            raise ConfigurationError("the clock is moved already: one advance at a time")
        try:
            advance = Advance(
                self._broker, self._alarms, self._settling, self._now_us, self._moved_to
            )
            advance.run(span_us, within_s, holding)
            if self.told is not None:
                self.told(holding)
        finally:
            self._moving.release()

    def _moved_to(self, now_us: int) -> None:
        self._now_us = now_us

    # -- alarms ------------------------------------------------------------------------------

    @asynccontextmanager
    async def _timeout(self, delay_s: float, *, works: bool) -> AsyncIterator[asyncio.Timeout]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as timeout:
            alarm = self._set(delay_s, lambda: _end_now(timeout, loop), works=works)
            try:
                yield timeout
            finally:
                self._alarms.forget(alarm)

    def _set(self, delay_s: float, ring: Callable[[], object], *, works: bool) -> Alarm:
        alarm = Alarm(
            self._now_us + round(delay_s * US_PER_S),
            ring,
            loop=asyncio.get_running_loop(),
            task=asyncio.current_task(),
            works=works,
            foreign=OF_CONSUMER.get() is None,
        )
        self._alarms.add(alarm)
        return alarm


class BlockingClock:
    """A :class:`VirtualClock` for threads without an event loop. Its methods block."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def sleep(self, delay: Span) -> None:
        """See :meth:`VirtualClock.sleep`."""
        awake = Event()
        clock = self._clock
        alarm = Alarm(
            clock._now_us + round(seconds(delay, "delay") * US_PER_S),
            awake.set,
            loop=None,
            task=None,
            works=False,
            foreign=True,
        )
        clock._alarms.add(alarm)
        awake.wait()

    def advance(self, span: Span, *, holding: int = 0, within: Span = WITHIN_S) -> None:
        """See :meth:`VirtualClock.advance`. Raises :exc:`~mqkit.errors.ConfigurationError` in a
        thread with an event loop, which would stand still."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._clock._advance(span, holding, within)
        else:
            raise ConfigurationError("in a coroutine, await clock.advance(...)")


def _end_now(timeout: asyncio.Timeout, loop: asyncio.AbstractEventLoop) -> None:
    if not timeout.expired():
        timeout.reschedule(loop.time())
