"""Virtual hosts that come and go, with clients in them. The laws: a deletion leaves no queue of the
virtual host in the log; a queue or a message that went with a deletion that is on disk never comes
back, not to a virtual host of the same name; and a message that was confirmed in one that stays is
there."""

from __future__ import annotations

from functools import partial

from mqkit.wire.methods import ExchangeDeclare, Method, QueueBind, QueueDeclare
from reference_broker.core.broker import Broker
from reference_broker.errors import ReplyCode
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line, Taken
from reference_broker.simulation.disk.bookkeeping import queue_ids_of
from reference_broker.simulation.disk.definitions import logged_queue_ids
from reference_broker.simulation.machine.node import USER

_DELETION_CHANCE = 0.5


class VHosts(Feature):
    name = "vhosts"
    queues = ("plain", "quorum", "once")
    operator_chance = 0.05
    fans_out = True
    expected_closes = (*Feature.expected_closes, ReplyCode.NOT_ALLOWED)
    """The virtual host may be gone when the client comes."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._deleting = False
        self._deleted_at: int | None = None
        """The log's tail after a deletion of which it isn't known yet that it is on disk."""
        self._doomed: set[int] = set()
        self._deleted_ms = 0
        self._gone: dict[int, int] = {}
        """The time at which a message went, by message."""
        self._doomed_queues: set[int] = set()
        """The ids of those that the last deletion takes away."""
        self._gone_queues: set[int] = set()
        """The ids of queues that went with a deletion that is on disk."""

    def declarations(self) -> list[Method]:
        return [
            ExchangeDeclare("later", "x-delayed-message", durable=True,
                            arguments={"x-delayed-type": "fanout"}),
            QueueDeclare(queue="plain", durable=True),
            QueueDeclare(queue="quorum", durable=True, arguments={"x-queue-type": "quorum"}),
            QueueDeclare(queue="once", durable=True, arguments={"x-message-id-window": 100}),
            *(QueueBind(queue=queue, exchange="later") for queue in self.queues),
        ]  # fmt: skip

    def publish(self, line: Line) -> None:
        post = self.post(line, [(queue,) for queue in self.queues])
        delay_ms = self.random.choice((1, 1, 500))
        key = f"id-{post.number}"
        line.publish("later", "", post, message_id=key, headers={"x-delay": delay_ms})

    def administer(self, broker: Broker) -> None:
        self.looked_at(broker)
        deleting = self._deleting or self._deleted_at is not None
        if not deleting and self.random.random() < _DELETION_CHANCE:
            self._deleting = True
            self._doomed = set(self.ledger.posts)
            self._doomed_queues = queue_ids_of(broker.vhosts[self.vhost])
            broker.delete_vhost(self.vhost, partial(self._is_gone, broker))

    def _is_gone(self, broker: Broker) -> None:
        """All is deleted; which may be in a later turn."""
        if left := self._doomed_queues & logged_queue_ids(broker):
            raise self.fail(f"a start would find {len(left)} queues whose virtual host is deleted")
        self._deleting = False
        self._doomed = set(self.ledger.posts)
        self._deleted_ms = self.clock.wall_ms()
        self._deleted_at = broker.journal.tail
        broker.add_vhost(self.vhost)
        broker.access.allow_everything(USER, self.vhost)

    def looked_at(self, broker: Broker) -> None:
        if self._deleted_at is not None and broker.journal.synced >= self._deleted_at:
            self._gone_queues |= self._doomed_queues
            self._gone = dict.fromkeys(self._doomed, self._deleted_ms) | self._gone
            self._deleted_at = None

    def started(self, broker: Broker) -> None:
        self._deleting = False
        self._deleted_at = None
        if back := self._gone_queues & queue_ids_of(broker.vhosts[self.vhost]):
            raise self.fail(f"{len(back)} queues are back whose virtual host was deleted")

    def delivered(self, line: Line, taken: Taken) -> None:
        if taken.sent_ms > self._gone.get(taken.number, taken.sent_ms):
            raise self.fail(f"message {taken.number} was in a virtual host that is deleted")

    def drained(self) -> None:
        for number in self._doomed:
            self.ledger.posts[number].confirmed_ms = None  # It may have gone with the others.
        super().drained()
