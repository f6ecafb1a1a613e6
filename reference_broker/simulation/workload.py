"""What a client does and when: connect, publish, settle, and connect again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from reference_broker.simulation.client import Session
from reference_broker.simulation.clock import SimulatedClock
from reference_broker.simulation.events import Settlement
from reference_broker.simulation.history import History
from reference_broker.simulation.machine import Machine
from reference_broker.simulation.network import Link
from reference_broker.simulation.scenario import FANOUT, ClientPlan, Scenario

RECONNECT_US = (5_000, 500_000)

SIZES = (0, 0, 10, 100, 100, 500, 1_000, 6_000)
LARGE_SIZES = (20_000, 80_000)
"""Several frames, several times a segment; and above what the log copies next to its head."""
_LARGE_CHANCE = 0.01

UNCONFIRMED_MAX = 200
"""A client with more than this waits: nobody publishes into a broker that says nothing."""


class Actor:
    """One client over its whole life: session after session, until :meth:`leave`."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        machine: Machine,
        history: History,
        scenario: Scenario,
        plan: ClientPlan,
    ) -> None:
        self.session: Session | None = None
        self._clock = clock
        self._random = random
        self._machine = machine
        self._history = history
        self._scenario = scenario
        self._plan = plan
        self.link: Link | None = None
        self._left = False
        self._routes: list[tuple[str, str, tuple[str, ...]]] = [
            ("", queue.name, (queue.name,)) for queue in scenario.queues
        ]
        if scenario.fanout:
            self._routes.append((FANOUT, "", scenario.fanout))

    def begin(self) -> None:
        """Start to connect, and to act."""
        self._connect()
        self._later(self._plan.pause_us, self._act)

    def leave(self) -> None:
        """The client's process ends."""
        self._left = True
        self._drop_session()

    def publish(self, count: int, *, persistent: bool | None = None) -> None:
        """Send ``count`` messages in one piece; the plan's mix, or all of them persistent."""
        session = self.session
        assert session is not None
        frames = []
        for _ in range(count):
            large = self._random.random() < _LARGE_CHANCE
            size = self._random.choice(LARGE_SIZES if large else SIZES)
            lasting = persistent or self._random.random() >= self._plan.transient_chance
            exchange, key, queues = self._random.choice(self._routes)
            frames.append(session.publish(exchange, key, queues, size, lasting))
        self._send(b"".join(frames))

    def settle_some(self) -> None:
        """Ack, requeue or reject some of what is held, in one piece."""
        session = self.session
        assert session is not None
        frames = []
        for _ in range(self._random.randint(1, 5)):
            if not session.held:
                break
            tag = self._random.choice(list(session.held)[:5])
            how = self._how()
            frames.append(session.settle(tag, how, multiple=self._random.random() < 0.2))
        if frames:
            self._send(b"".join(frames))

    def _how(self) -> Settlement:
        chance = self._random.random()
        if chance < self._plan.requeue_chance:
            return Settlement.REQUEUE
        if chance < self._plan.requeue_chance + self._plan.reject_chance:
            return Settlement.REJECT
        return Settlement.ACK

    def _act(self) -> None:
        if self._left:
            return
        session = self.session
        if session is not None and session.ready:
            if self._random.random() < self._plan.publish_chance:
                if len(session.unconfirmed) < UNCONFIRMED_MAX:
                    self.publish(self._random.randint(1, self._plan.batch_max))
            else:
                self.settle_some()
        self._later(self._plan.pause_us, self._act)

    def _connect(self) -> None:
        if self._left:
            return
        number = self._history.begin_session()
        setup = self._scenario.setup(self._plan)
        session = Session(number, self._plan, setup, self._history, self._send)
        link = self._machine.connect(self._received, self._lost)
        if link is None:
            self._later(RECONNECT_US, self._connect)
            return
        self.session, self.link = session, link
        session.begin()

    def _send(self, data: bytes) -> None:
        assert self.link is not None
        self.link.to_broker.send(data)

    def _received(self, data: bytes, sent: int) -> None:
        session = self.session
        if session is not None:
            session.receive_data(data, sent)
            if session.over:
                self._lost()

    def _lost(self) -> None:
        self._drop_session()
        self._later(RECONNECT_US, self._connect)

    def _drop_session(self) -> None:
        session, self.session = self.session, None
        link, self.link = self.link, None
        if session is not None and link is not None:
            session.end()
            link.client_gone()

    def _later(self, span_us: tuple[int, int], callback: Callable[[], None]) -> None:
        self._clock.after(self._random.randint(*span_us), callback)
