"""The process of a node, as etcd's answers find it: at work, paused, or gone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from reference_broker.simulation.events.clock import SimulatedClock

AsInput = Callable[[Callable[[], None]], None]
"""Runs what a process is told."""


def at_once(step: Callable[[], None]) -> None:
    """Run ``step``, and nothing around it."""
    step()


class Inbox:
    """Everything that a process is told, and its own timers: each is run by ``as_input``. While it
    is paused all that waits, in order; once it is closed nothing is told any more."""

    def __init__(self, clock: SimulatedClock, as_input: AsInput = at_once) -> None:
        self.closed = False
        self._clock = clock
        self._as_input = as_input
        self._paused = False
        self._pauses = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def tell(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` now, or when the process goes on."""
        if self._paused or self._waiting:
            self._waiting.append(callback)
        elif not self.closed:
            self._as_input(callback)

    def later(self, delay_us: int, callback: Callable[[], None]) -> None:
        """Call ``callback`` in ``delay_us``, or when the process goes on."""
        self._clock.after(delay_us, lambda: self.tell(callback))

    def pause(self) -> None:
        """The process stands still."""
        self._paused = True
        self._pauses += 1

    def resume(self) -> None:
        """The process goes on: it is told what has waited, in an event of its own."""
        pause = self._pauses
        self._clock.after(0, lambda: self._go_on(pause))

    def close(self) -> None:
        """The process is gone. Idempotent."""
        self.closed = True
        self._waiting.clear()

    def _go_on(self, pause: int) -> None:
        if pause != self._pauses:
            return  # it stands still again
        self._paused = False
        while self._waiting and not self._paused and not self.closed:
            # It stays in its place meanwhile: what it causes to be told comes behind the others.
            self._as_input(self._waiting[0])
            if self._waiting:
                self._waiting.popleft()
