"""The wires between nodes: messages that arrive late and in order, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from reference_broker.simulation.events.clock import SimulatedClock

_LATENCY_US = (100, 5_000)


class Wires:
    """One wire for each ordered pair of nodes. Whoever plays faults calls :meth:`cut` and
    :meth:`heal`; a cut may be one-way."""

    def __init__(self, clock: SimulatedClock, random: Random) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._random = random
        self._cut: dict[tuple[str, str], None] = {}
        self._last_us: dict[tuple[str, str], int] = {}

    def send(self, sender: str, receiver: str, arrive: Callable[[], None]) -> None:
        """Have ``arrive`` called when the message is there. What was sent before a cut is lost with
        it, if it has not arrived."""
        wire = (sender, receiver)
        due_us = self._clock.now_us + self._random.randint(*_LATENCY_US)
        self._last_us[wire] = due_us = max(due_us, self._last_us.get(wire, 0))

        def come() -> None:
            if wire in self._cut:
                self.counts["messages lost"] += 1
            else:
                arrive()

        self._clock.after(due_us - self._clock.now_us, come)

    def cut(self, sender: str, receiver: str) -> None:
        """Let nothing through that way. Idempotent."""
        self._cut[sender, receiver] = None

    def heal(self) -> None:
        """Let everything through."""
        self._cut.clear()
