"""A feature's client over its whole life: one line after another, and an operator beside it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from reference_broker.core.broker import Broker
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line, number_of
from reference_broker.simulation.disk import bookkeeping, inspection
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.standings import Standing
from reference_broker.simulation.machine.machine import Machine
from reference_broker.simulation.machine.network import Link
from reference_broker.simulation.machine.node import Node

PAUSE_US = (150_000, 700_000)
DRAIN_PAUSE_US = (5_000, 20_000)
RECONNECT_US = (5_000, 500_000)


class FeatureActor:
    """A feature's client. Acts from :meth:`begin` to :meth:`leave`; then from :meth:`drain` until
    ``done``."""

    def __init__(
        self, clock: SimulatedClock, random: Random, machine: Machine, feature: Feature
    ) -> None:
        self.feature = feature
        self.done = False
        self._clock = clock
        self._random = random
        self._machine = machine
        self._present = False
        self._rests = False
        self._line: Line | None = None
        self._link: Link | None = None
        self._lines_made = 0

    def begin(self) -> None:
        """Start to connect, and to act."""
        self._present = True
        self._connect()
        self._later(PAUSE_US, self._act)

    def calm(self) -> None:
        """Ack everything from now on, and do nothing else."""
        self.feature.draining = True

    def rest(self) -> None:
        """Do nothing at all from now on, but stay connected."""
        self._rests = True

    @property
    def standing(self) -> Standing:
        """The client, and what it waits for."""
        name = f"the client of '{self.feature.name}'"
        if self._line is None:
            return Standing(name, is_connected=False)
        return self._line.standing(name, self.feature.queues)

    def leave(self) -> None:
        """End the client's process."""
        self._present = False
        self._drop_line()

    def drain(self) -> None:
        """Come back, and take all messages for good. Call it when everything that :meth:`begin` has
        set going has ended."""
        self.feature.draining = True
        self._present = True
        self._connect()
        self._later(DRAIN_PAUSE_US, self._drain)

    def came_to_rest(self, broker: Broker) -> None:
        """Check, after the last restart, that no message has come back. Raises :exc:`Violation`."""
        if not bookkeeping.has_nothing_to_give(broker.vhosts[self.feature.vhost]):
            raise self.feature.fail("messages are back whose acks were synced")

    def started(self, node: Node) -> None:
        """The broker has started."""
        self.feature.life += 1
        self.feature.started(node.broker)
        if self.feature.judges_starts:
            self.feature.found(self._numbers_in(node))

    def _act(self) -> None:
        if not self._present:
            return
        node, line = self._machine.node, self._line
        if node is not None:
            self.feature.looked_at(node.broker)
        administers = self._random.random() < self.feature.operator_chance
        if node is not None and administers and not self.feature.draining:
            node.administer(self.feature.administer)
        elif line is not None and line.ready and not self._rests:
            self.feature.act(line)
        self._later(PAUSE_US, self._act)

    def _drain(self) -> None:
        node, line = self._machine.node, self._line
        if node is not None and line is not None and line.ready:
            self.feature.act(line)
            if self._has_drained(node, line):
                self.leave()
                self.feature.drained()
                self.done = True
                return
        self._later(DRAIN_PAUSE_US, self._drain)

    def _has_drained(self, node: Node, line: Line) -> bool:
        vhost, journal = node.broker.vhosts[self.feature.vhost], node.broker.journal
        all_gone = not line.held and bookkeeping.has_nothing_to_give(vhost)
        return all_gone and journal.synced == journal.tail

    def _numbers_in(self, node: Node) -> dict[str, set[int]]:
        queues = node.broker.vhosts[self.feature.vhost].queues.values()
        return {
            queue.name: {
                number_of(content.header)
                for content in inspection.ready_contents(queue, node.log, self._machine.disk)
            }
            for queue in queues
        }

    # Connecting

    def _connect(self) -> None:
        if not self._present:
            return
        link = self._machine.connect(self._received, self._lost)
        if link is None:
            self._later(RECONNECT_US, self._connect)
            return
        self._link = link
        self._lines_made += 1
        send: Callable[[bytes], None] = link.to_broker.send
        self._line = Line(self._lines_made, self.feature, send, self._clock.wall_ms)
        self._line.begin()

    def _received(self, data: bytes, sent: int) -> None:
        line = self._line
        if line is not None:
            line.receive_data(data, sent)
            if line.over:
                self._lost()

    def _lost(self) -> None:
        self._drop_line()
        self._later(RECONNECT_US, self._connect)

    def _drop_line(self) -> None:
        line, self._line = self._line, None
        link, self._link = self._link, None
        if line is not None and link is not None:
            line.over = True
            self.feature.ended(line)
            link.client_gone()

    def _later(self, span_us: tuple[int, int], callback: Callable[[], None]) -> None:
        self._clock.after(self._random.randint(*span_us), callback)
