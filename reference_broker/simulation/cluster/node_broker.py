"""The broker of a simulated node: the real core, whose definitions are the cluster's and whose
queues have homes, with turns, a tick, a disk that lags, and the sockets of its clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from reference_broker.cluster.definitions.node_definitions import NodeDefinitions
from reference_broker.cluster.definitions.shared_definitions import SharedDefinitions
from reference_broker.cluster.queues.queue_links import QueueLinks
from reference_broker.core.access.users import UserStore
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.peer import Peer
from reference_broker.core.broker import Broker
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.budget import DECLARATION_UNITS, Budget
from reference_broker.simulation.cluster.lagging_journal import LaggingJournal
from reference_broker.simulation.etcd.inbox import Inbox

if TYPE_CHECKING:
    from reference_broker.cluster.link.link import Link
    from reference_broker.cluster.node import ClusterNode
    from reference_broker.simulation.cluster.messages.client_socket import ClientSocket
    from reference_broker.simulation.events.clock import SimulatedClock

TURN_US = 1_000
TURN_UNITS = 3 * DECLARATION_UNITS
"""Three definitions: views are applied in many portions, and so is what many messages bring."""

SYNC_US = (500, 30_000)

_US_PER_S = 1_000_000
_PEER = Peer("127.0.0.1", 50_000, "127.0.0.1", 5672)


class NodeBroker:
    """The broker of a node in its run. Call :meth:`attach` before anything else; everything that
    the rest of the process does with it is an input (:meth:`as_input`)."""

    def __init__(self, clock: SimulatedClock, random: Random, run: int) -> None:
        self.inbox = Inbox(clock)
        """The inputs of the broker itself: its turns, its disk, and its clients' sockets."""
        self.journal = LaggingJournal(run)
        self.budget = Budget(TURN_UNITS)
        self.shared = SharedDefinitions()
        self.broker = Broker(
            self.journal,
            UserStore(),
            secret=b"simulated",
            budget=self.budget,
            shared_definitions=self.shared,
        )
        self.reports: list[str] = []
        self.queue_links: QueueLinks
        self.definitions: NodeDefinitions
        self._clock = clock
        self._random = random
        self.clients: dict[ClientSocket, None] = {}
        """The sockets of clients that have not let go of them, connected or not."""
        self._sockets: dict[int, ClientSocket] = {}
        self._has_input = self._is_turning = self._is_syncing = False
        self._tick_us: int | None = None
        self._turn_ends_us = 0
        self._begin()

    def attach(self, node: ClusterNode, look_at: Callable[[Link], None]) -> None:
        """Have the broker follow the node's view, and its queues have homes over links, which
        ``look_at`` has written."""
        self.queue_links = QueueLinks(self.broker, node.view.revision, look_at)
        self.definitions = NodeDefinitions(
            self.broker,
            self.shared,
            node,
            self.queue_links,
            self.broker.after,
            self.reports.append,
        )

    def kill(self) -> None:
        """The process is gone, and so are its clients' connections. Idempotent."""
        self.inbox.close()
        clients, self.clients = self.clients, {}
        for socket in clients:
            socket.process_gone()

    def vhost(self, name: str) -> VHost | None:
        """The virtual host of that name."""
        return self.broker.vhosts.get(name)

    # Inputs

    def as_input(self, step: Callable[[], None]) -> None:
        """Run ``step`` as an input, or as a part of the one that is under way."""
        if self._has_input:
            step()
            return
        self._has_input = True
        self._begin()
        try:
            step()
        finally:
            self._has_input = False
        self.broker.finish()
        self._end_input()

    def connect(self, socket: ClientSocket) -> None:
        """A client has connected: what it sends comes by :meth:`receive`."""
        self._refill()
        socket.connection = connection = self.broker.connect(_PEER, *self._now())
        self.broker.finish()
        self._sockets[connection.id] = socket
        self._end_input()

    def receive(self, socket: ClientSocket, data: bytes | None) -> None:
        """A client has sent something; ``None`` is the end."""
        self._refill()
        if data is None:
            self._sockets.pop(socket.connection.id, None)
            socket.connection.receive_eof(*self._now())
        else:
            socket.connection.receive_data(data, *self._now())
        self._end_input()

    def short_of(self, alarm: Alarm) -> None:
        """There is little left of something: what a full disk is, or an operator holds."""
        if alarm is Alarm.DISK:
            self.broker.disk_low(*self._now())
        else:
            self.broker.alarms.hold(alarm)

    def short_no_more(self, alarm: Alarm) -> None:
        """There is enough of it again."""
        if alarm is Alarm.DISK:
            self.broker.disk_recovered(*self._now())
        else:
            self.broker.alarms.release(alarm)

    def _now(self) -> tuple[float, int]:
        return self._clock.now_us / _US_PER_S, self._clock.wall_ms()

    def _begin(self) -> None:
        self._refill()
        self.broker.begin(*self._now())

    def _refill(self) -> None:
        """Begin another turn, if the last one is over."""
        if self._clock.now_us >= self._turn_ends_us:
            self._turn_ends_us = self._clock.now_us + TURN_US
            self.budget.refill()

    # The end of an input

    def _end_input(self) -> None:
        for connection in self.broker.take_dirty_connections():
            socket = self._sockets.get(connection.id)
            if socket is not None:
                self._flush(socket)
        if self.broker.has_work and not self._is_turning:
            self._is_turning = True
            self.inbox.later(TURN_US, self._turn)
        if self.journal.awaited > self.journal.synced and not self._is_syncing:
            self._is_syncing = True
            sync = partial(self._synced, self.journal.tail)
            self.inbox.later(self._random.randint(*SYNC_US), sync)
        due_s = self.broker.next_deadline()
        if due_s is not None:
            self._tick_at(round(due_s * _US_PER_S) + 1)

    def _flush(self, socket: ClientSocket) -> None:
        connection = socket.connection
        while connection.output:
            socket.told(b"".join(connection.take_output()))
        if connection.closed:
            self._sockets.pop(connection.id, None)
            socket.told(None)

    def _turn(self) -> None:
        self._is_turning = False
        self._refill()
        if self.broker.has_work:
            self.broker.go_on(*self._now())
            self._end_input()

    def _synced(self, position: int) -> None:
        self._is_syncing = False
        self._refill()
        self.journal.synced_up_to(position)
        self.broker.synced(position, *self._now())
        self._end_input()

    def _tick_at(self, due_us: int) -> None:
        if self._tick_us is None or due_us < self._tick_us:
            self._tick_us = due_us
            self.inbox.later(due_us - self._clock.now_us, partial(self._tick, due_us))

    def _tick(self, due_us: int) -> None:
        if self._tick_us == due_us:
            self._tick_us = None
            self._refill()
            self.broker.tick(*self._now())
            self._end_input()
