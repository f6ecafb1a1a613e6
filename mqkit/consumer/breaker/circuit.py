"""The decisions of a circuit breaker: when to probe, and when to trust. No I/O."""

from __future__ import annotations

import random
from collections.abc import Callable

from mqkit.consumer.breaker.states import Event, State, after
from mqkit.timing.backoff import Backoff

PROBE_FIRST_S = 1.0
PROBE_MAX_S = 60.0
"""Waits before a probe lie between zero and a ceiling that grows from the first to this."""

GIVEN_BACK_MAX = 10
"""Times that a message may be given back by a circuit that opens again each time it has closed. A
quorum queue drops a message at its 21st delivery, unless it is declared otherwise."""


def probes_for(prefetch: int) -> int:
    """Probes in a row that have to be handled before a consumer gets ``prefetch`` messages again.

    They are the first messages of the queue, so that the one at the end of the prefetch is near its
    beginning after :data:`GIVEN_BACK_MAX` times.
    """
    return -(-prefetch // GIVEN_BACK_MAX)


class Circuit:
    """The circuit of one consumer; ``rng`` gives numbers from 0 to 1."""

    def __init__(self, probes: int, rng: Callable[[], float] = random.random) -> None:
        self._probes = probes
        self._backoff = Backoff(PROBE_FIRST_S, PROBE_MAX_S, rng)
        self._state = State.CLOSED
        self._handled = 0
        self.on_change: Callable[[State, State], None] | None = None
        """Called with the states before and after each change."""

    @property
    def state(self) -> State:
        return self._state

    def unavailable(self) -> float:
        """A handler said ``Unavailable``. Returns the seconds until the next probe."""
        self._fire(Event.UNAVAILABLE)
        self._handled = 0
        return self._backoff.next_s()

    def due(self) -> None:
        """The wait is over."""
        self._fire(Event.DUE)

    def handled(self) -> None:
        """A probe was handled."""
        self._fire(Event.HANDLED)
        self._handled += 1
        if self._state is State.HALF_OPEN and self._handled >= self._probes:
            self._fire(Event.PROVEN)
            self._backoff.reset()

    def _fire(self, event: Event) -> None:
        before, self._state = self._state, after(self._state, event)
        if self._state is not before and self.on_change is not None:
            self.on_change(before, self._state)
