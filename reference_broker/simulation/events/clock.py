"""Virtual time: nothing happens between two events, so a minute takes as long as its events do."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from reference_broker.core.base.wall_clock import FOLLOWS

START_S = 1_000
"""The monotonic clock at the start of a run, in seconds."""

START_WALL_MS = 1_700_000_000_000
"""The wall clock at the start of a run."""

_US_PER_S = 1_000_000


class Pending:
    """A call that is to come, and may be cancelled."""

    __slots__ = ("_callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Call no more. Idempotent."""
        self._callback = None

    def come(self) -> None:
        """Call, unless cancelled."""
        if self._callback is not None:
            self._callback()


class SimulatedClock:
    """The clock and the queue of a run's events, in order of their time, and of their making where
    that is equal: the only place that says what happens next. Times are whole microseconds."""

    def __init__(self) -> None:
        self.now_us = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._made = 0
        self._stamped_us: list[int] = []
        self._system_offsets_ms = [0]

    def stamp(self) -> int:
        """A number that rises with every call, from 1: which of two things was first."""
        self._stamped_us.append(self.now_us)
        return len(self._stamped_us)

    def wall_ms(self, stamp: int | None = None) -> int:
        """The wall clock now; or at the time of ``stamp``, if one is given."""
        now_us = self.now_us if stamp is None else self._stamped_us[stamp - 1]
        return START_WALL_MS + now_us // 1_000

    def mono_s(self) -> float:
        """The monotonic clock now."""
        return START_S + self.now_us / _US_PER_S

    def system_us(self) -> int:
        """The clock of the broker's machine, in microseconds: the wall clock, or as somebody has
        set it."""
        return START_WALL_MS * 1_000 + self.now_us + self._system_offsets_ms[-1] * 1_000

    def set_system(self, offset_ms: int) -> None:
        """Have the clock of the broker's machine be wrong by ``offset_ms``."""
        self._system_offsets_ms.append(offset_ms)

    def off_ms(self, duration_ms: int, *, in_one_life: bool) -> int:
        """Most milliseconds by which what the broker takes for that duration may be wrong, as the
        clock of its machine was set: none where it never was, a hundredth within one life of the
        broker, and all of the steps where it was restarted."""
        steps_ms = max(self._system_offsets_ms) - min(self._system_offsets_ms)
        slewed_ms = int(FOLLOWS * duration_ms) + 1
        return min(steps_ms, slewed_ms) if in_one_life else steps_ms + min(steps_ms, slewed_ms)

    def after(self, delay_us: int, callback: Callable[[], None]) -> None:
        """Call ``callback`` once, ``delay_us`` from now. The call can't be taken back: ``callback``
        looks itself whether it is still wanted."""
        self._made += 1
        heapq.heappush(self._events, (self.now_us + max(delay_us, 0), self._made, callback))

    def call_at(self, mono_s: float, callback: Callable[[], None]) -> Pending:
        """Call ``callback`` when the monotonic clock shows ``mono_s``, or now if it has, unless it
        is cancelled before: as an event loop does."""
        pending = Pending(callback)
        # Rounded up: a tick that comes before its deadline would find nothing to do.
        self.after(-int((START_S - mono_s) * _US_PER_S) + 1 - self.now_us, pending.come)
        return pending

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Pending:
        """Call ``callback`` once, so many seconds from now, unless it is cancelled before: as an
        event loop does."""
        pending = Pending(callback)
        self.after(int(seconds * _US_PER_S), pending.come)
        return pending

    def run(self, until_us: int, stop: Callable[[], bool] = lambda: False) -> bool:
        """Run the events that are due up to ``until_us``, or until ``stop`` says so. Returns true
        if ``stop`` did."""
        while self._events and self._events[0][0] <= until_us:
            if stop():
                return True
            self.now_us, _, callback = heapq.heappop(self._events)
            callback()
        if stop():
            return True
        self.now_us = until_us
        return False
