"""Exclusive queues, two or three on one connection. Its laws: while the connection is there, all of
them are, and nobody else is let in; soon after its end, whatever that was, none of them is, and the
names are free again; no start finds one, nor does a message of one connection come to the next."""

from __future__ import annotations

from mqkit.wire.methods import (
    BasicConsume,
    BasicQos,
    ConfirmSelect,
    Method,
    QueueDeclare,
    QueueDeclareOk,
)
from reference_broker.core.broker import Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import ChannelException, ReplyCode
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line, Taken

LATE_MS = 5_000
"""Milliseconds after the end of their connection in which queues may still go: a broker of tiny
turns has all the connection's messages to give back before."""

_CLOSE_CHANCE = 0.05
_DURABLE_CHANCE = 0.5


class Exclusive(Feature):
    name = "exclusive"
    operator_chance = 0.15
    synced_by_confirms = False
    """Nothing of these queues is ever on disk."""
    expected_closes = (*Feature.expected_closes, ReplyCode.RESOURCE_LOCKED)
    """The broker may not know yet that the line before has ended."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.queues = tuple(f"mine-{number}" for number in range(self.random.randint(2, 3)))
        self._declared = 0
        """Queues that the line was told are there."""
        self._orphans: dict[Queue, int] = {}
        """The time since which a queue is there without its connection."""

    def topology(self) -> list[Method]:
        self._declared = 0
        declares = [
            QueueDeclare(queue, exclusive=True, durable=self.random.random() < _DURABLE_CHANCE)
            for queue in self.queues
        ]
        consumes = [BasicConsume(queue=queue, consumer_tag=f"{queue}/0") for queue in self.queues]
        return [*declares, ConfirmSelect(), BasicQos(prefetch_count=self.prefetch), *consumes]

    def act(self, line: Line) -> None:
        if not self.draining and self.random.random() < _CLOSE_CHANCE:
            self.counts["connections with exclusive queues closed"] += 1
            line.close()
        else:
            super().act(line)

    def publish(self, line: Line) -> None:
        line.publish("", self.random.choice(self.queues), self.post(line, []))

    def answered(self, line: Line, method: Method) -> None:
        self._declared += isinstance(method, QueueDeclareOk)

    def ended(self, line: Line) -> None:
        self._declared = 0
        if line.closed_with == ReplyCode.RESOURCE_LOCKED:
            self.counts["declarations of a locked queue"] += 1

    def delivered(self, line: Line, taken: Taken) -> None:
        post = self.ledger.posts[taken.number]
        if post.line != line.number:
            raise self.fail(
                f"message {taken.number} was for '{taken.queue}' of connection {post.line}, and "
                f"came to that of {line.number}"
            )

    def started(self, broker: Broker) -> None:
        self._declared = 0
        self._orphans.clear()
        if left := broker.vhosts[self.vhost].queues:
            raise self.fail(f"{sorted(left)} are there after a start")

    def looked_at(self, broker: Broker) -> None:
        queues = list(broker.vhosts[self.vhost].queues.values())
        now_ms = self.clock.wall_ms()
        self._orphans = {
            queue: self._orphans.get(queue, now_ms)
            for queue in queues
            if not _is_connected(broker, queue.owner)
        }
        for queue, since_ms in self._orphans.items():
            if now_ms - since_ms > LATE_MS:
                raise self.fail(
                    f"'{queue.name}' is there {now_ms - since_ms} ms after its connection"
                )
        owned = len(queues) - len(self._orphans)
        if owned and owned < self._declared:
            raise self.fail(f"{owned} of {self._declared} queues of one connection are there")

    def administer(self, broker: Broker) -> None:
        """Try to use what is another's, as a management request does."""
        vhost = broker.vhosts[self.vhost]
        for queue in list(vhost.queues.values()):
            if _is_connected(broker, queue.owner):
                self._try_to_use(vhost, queue.name)

    def _try_to_use(self, vhost: VHost, name: str) -> None:
        try:
            if self.random.random() < 0.5:
                vhost.queue_for(name, None)
            else:
                vhost.declare_queue(name, durable=True)
        except ChannelException as refusal:
            if refusal.code != ReplyCode.RESOURCE_LOCKED:
                raise
            self.counts["uses of a locked queue"] += 1
        else:
            raise self.fail(f"somebody else was let into '{name}'")


def _is_connected(broker: Broker, owner: object) -> bool:
    return (
        isinstance(owner, Connection)
        and not owner.closed
        and broker.connections.get(owner.id) is owner
    )
