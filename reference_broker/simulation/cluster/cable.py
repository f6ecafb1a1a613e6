"""The network between nodes: connections whose bytes arrive late and in order, get stuck in a cut,
and are gone with it when an end gives up."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from random import Random

from reference_broker.simulation.events.clock import SimulatedClock

_LATENCY_US = (100, 5_000)

Take = Callable[[bytes | None], None]
"""An end's reader; ``None`` says that the other end has closed the connection."""


class Cables:
    """One cable for each ordered pair of nodes. Whoever plays faults calls :meth:`cut` and
    :meth:`heal`; a cut may be one-way, and says nothing to anybody."""

    def __init__(self, clock: SimulatedClock, random: Random) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._random = random
        self.healed_us = 0
        """The time of the last :meth:`heal`: what comes after it may be old."""
        self._cut: dict[tuple[str, str], None] = {}
        self._stuck: deque[Callable[[], None]] = deque()

    def latency_us(self) -> int:
        """Microseconds for one way, drawn anew."""
        return self._random.randint(*_LATENCY_US)

    def is_cut(self, sender: str, receiver: str) -> bool:
        """True while nothing passes that way."""
        return (sender, receiver) in self._cut

    @property
    def is_any_cut(self) -> bool:
        """True while something does not pass."""
        return bool(self._cut)

    def cut(self, sender: str, receiver: str) -> None:
        """Let nothing through that way. Idempotent."""
        self._cut[sender, receiver] = None

    def heal(self) -> None:
        """Let everything through; what got stuck arrives."""
        self.healed_us = self._clock.now_us
        self._cut.clear()
        stuck, self._stuck = self._stuck, deque()
        for arrive in stuck:
            self._clock.after(self.latency_us(), arrive)

    def carry(self, sender: str, receiver: str, due_us: int, arrive: Callable[[], None]) -> None:
        """Have ``arrive`` called at ``due_us``, or when the cable is whole again."""

        def come() -> None:
            if self.is_cut(sender, receiver):
                self.counts["bytes stuck in a cut"] += 1
                self._stuck.append(come)
            else:
                arrive()

        self._clock.after(due_us - self._clock.now_us, come)


class Connection:
    """A connection from ``dialer`` to ``acceptor``: the ends are named by their nodes."""

    def __init__(self, clock: SimulatedClock, cables: Cables, dialer: str, acceptor: str) -> None:
        self._clock = clock
        self._cables = cables
        self._readers: dict[str, Take] = {}
        self._ways: dict[str, _Way] = {
            dialer: _Way(dialer, acceptor),
            acceptor: _Way(acceptor, dialer),
        }

    def attach(self, node: str, take: Take) -> None:
        """Hand what comes for ``node`` to ``take``."""
        self._readers[node] = take

    def send(self, sender: str, data: bytes | None) -> None:
        """Have ``data`` arrive at the other end, behind what was sent before; ``None`` closes."""
        way = self._ways[sender]
        way.data.append(data)
        way.last_us = max(way.last_us, self._clock.now_us + self._cables.latency_us())
        self._cables.carry(way.sender, way.receiver, way.last_us, lambda: self._arrive(way))

    def _arrive(self, way: _Way) -> None:
        # What got stuck may come in another order: who comes first takes what was sent first.
        data = way.data.popleft()
        take = self._readers.get(way.receiver)
        if take is not None:
            take(data)


class _Way:
    """One direction of a connection."""

    def __init__(self, sender: str, receiver: str) -> None:
        self.sender = sender
        self.receiver = receiver
        self.data: deque[bytes | None] = deque()
        self.last_us = 0
