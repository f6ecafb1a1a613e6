"""The queues of clients with messages, and the exchange that has copies for several homes."""

from __future__ import annotations

from typing import NamedTuple

from mqkit.wire.methods import ExchangeDeclare, Method, QueueBind, QueueDeclare

EVERYWHERE = "m-everywhere"
"""A fanout exchange."""

BRIEF = "m-brief"
"""The queue that clients delete: nothing of it is counted on."""


class SharedQueue(NamedTuple):
    """A durable queue. ``bound``: to the fanout exchange."""

    name: str
    arguments: dict[str, object]
    bound: bool

    def declare(self) -> QueueDeclare:
        """The method that declares it."""
        return QueueDeclare(self.name, durable=True, arguments=self.arguments)


BRIEF_QUEUE = SharedQueue(BRIEF, {"x-queue-master-locator": "random"}, False)

_FULL = {"x-max-length": 6, "x-overflow": "reject-publish"}
QUEUES = (
    SharedQueue("m-classic", {}, True),
    SharedQueue("m-spread", {"x-queue-master-locator": "min-masters"}, True),
    SharedQueue("m-full", {**_FULL, "x-queue-master-locator": "min-masters"}, True),
    SharedQueue("m-quorum", {"x-queue-type": "quorum", "x-queue-leader-locator": "balanced"}, True),
    BRIEF_QUEUE,
)
NAMES = tuple(queue.name for queue in QUEUES)
COUNTED_ON = tuple(name for name in NAMES if name != BRIEF)
BOUND = tuple(queue.name for queue in QUEUES if queue.bound)


def declarations() -> list[Method]:
    """The methods that make all of it. Idempotent."""
    methods: list[Method] = [queue.declare() for queue in QUEUES]
    methods.append(ExchangeDeclare(EVERYWHERE, "fanout", durable=True))
    methods += [QueueBind(name, EVERYWHERE) for name in BOUND]
    return methods
