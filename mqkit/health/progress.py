"""The progress of consumers, from one look to the next.

A look costs a message nothing, for the counters are there. The price: a standstill begins with the
first look that sees it, so it is told one interval of the looks late at most, and never too early.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mqkit.consumer.breaker.states import State as CircuitState
from mqkit.consumer.stats import Stats


class Consuming(Protocol):
    """A consumer, as far as its progress goes."""

    @property
    def stats(self) -> Stats: ...
    @property
    def circuit_state(self) -> CircuitState: ...


class Progress:
    """The looks at one app's consumers."""

    def __init__(self) -> None:
        self._seen: dict[Consuming, tuple[int, float]] = {}
        """The messages that a consumer had settled when it was seen to have more, and since when
        that number has not changed."""

    def look(self, consumers: Iterable[Consuming], now_s: float) -> dict[Consuming, float]:
        """Look at all ``consumers``. Gives for each the seconds for which it has stood still."""
        seen: dict[Consuming, tuple[int, float]] = {}
        stalled_s = {}
        for consumer in consumers:
            stalled_s[consumer] = 0.0
            stats = consumer.stats
            unsettled = stats.unsettled
            # With an open circuit a message is kept for the next probe, on purpose.
            if unsettled <= 0 or consumer.circuit_state is not CircuitState.CLOSED:
                continue
            # A retry that is waited for in order is progress, too.
            settled = stats.delivered - unsettled + stats.held
            before, since_s = self._seen.get(consumer, (settled, now_s))
            if before != settled:
                since_s = now_s
            seen[consumer] = settled, since_s
            stalled_s[consumer] = now_s - since_s
        self._seen = seen
        return stalled_s
