"""Moving time on, from one moment at which something is due to the next."""

from __future__ import annotations

from collections.abc import Callable

from mqkit.testing.virtual_time.alarms import Alarms
from mqkit.testing.virtual_time.ports import TimedBroker
from mqkit.testing.virtual_time.settling import NotSettled, Settling

US_PER_MS = 1000

STEPS_MAX = 100_000
"""Moments of one advance: what waits for a millisecond again and again would have it go on for
hours."""


class Advance:
    """One movement of a clock from ``now_us``; ``moved`` is told of each moment before anybody
    wakes."""

    def __init__(
        self,
        broker: TimedBroker,
        alarms: Alarms,
        settling: Settling,
        now_us: int,
        moved: Callable[[int], None],
    ) -> None:
        self._broker = broker
        self._alarms = alarms
        self._settling = settling
        self._start_us = self._now_us = now_us
        self._moved = moved

    def run(self, span_us: int, within_s: float, holding: int) -> None:
        """Move on by ``span_us``. At each moment the broker's work comes first, then who waits;
        each time all is settled before time goes on. Raises :exc:`NotSettled`: the clock stands
        at that moment then."""
        target_us = self._start_us + span_us
        try:
            self._settling.begin(within_s, holding)
            for _ in range(STEPS_MAX):
                due_us = self._next_us()
                if due_us is None or due_us > target_us:
                    break
                self._step(max(due_us, self._now_us), within_s)
            else:
                raise NotSettled(f"something became due {STEPS_MAX} times")
            self._go_to(target_us)
        except NotSettled as error:
            at_s = (self._now_us - self._start_us) / 1e6
            raise NotSettled(
                f"{at_s:g} s on, and after {within_s:g} s of real time, this is still waited for:"
                f" {error}"
            ) from None

    def _next_us(self) -> int | None:
        at_broker_ms = self._broker.next_ms()
        moments = [self._alarms.next_us(), at_broker_ms and at_broker_ms * US_PER_MS]
        return min((each for each in moments if each is not None), default=None)

    def _step(self, moment_us: int, within_s: float) -> None:
        at_broker_ms = self._broker.next_ms()
        self._go_to(moment_us)
        if at_broker_ms is not None and at_broker_ms * US_PER_MS <= moment_us:
            self._settling.settle(within_s)
        rung = self._alarms.ring(moment_us)
        if rung:
            self._settling.release(rung)
            self._settling.settle(within_s)

    def _go_to(self, moment_us: int) -> None:
        self._now_us = moment_us
        self._moved(moment_us)
        self._broker.move_to(moment_us // US_PER_MS)
