"""A scenario: what is declared, published and consumed, over how many connections."""

from __future__ import annotations

from dataclasses import dataclass

from mqkit_bench.broker.message import Message
from mqkit_bench.broker.topology import Topology


@dataclass(frozen=True, slots=True)
class Subscription:
    """A connection with one channel that consumes from these queues; an idle one has none.

    ``prefetch`` is each consumer's. ``ack_every`` messages one ack goes out for all of them; with 0
    the broker takes a message as acked when it sends it.
    """

    queues: tuple[str, ...]
    consumers_per_queue: int = 1
    prefetch: int = 2048
    ack_every: int = 128

    @property
    def consumer_tags(self) -> list[tuple[str, str]]:
        """Each consumer's queue and tag. All tags have one length."""
        places = [queue for queue in self.queues for _ in range(self.consumers_per_queue)]
        return [(queue, consumer_tag(number)) for number, queue in enumerate(places)]


@dataclass(frozen=True, slots=True)
class Target:
    """The figures that the reference broker is to reach: at least so many times RabbitMQ's rate
    with at most so much of its CPU, and confirms (p50) in at most so many times the floor's."""

    rate: float
    cpu: float | None = None
    confirm: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One job for every contestant.

    ``window`` messages of each publisher may be under way: unconfirmed, or, where it has no
    confirms, undelivered. A message is delivered ``copies`` times. A standing ``backlog`` is filled
    in beforehand and stays: as much is acked as is published.
    """

    name: str
    topology: Topology
    messages: tuple[Message, ...]
    subscriptions: tuple[Subscription, ...]
    publishers: int = 1
    window: int = 2048
    confirms: bool = True
    copies: int = 1
    backlog: int = 0
    changed_on_the_way: bool = False
    """The broker adds to the message, so that a delivery's length has to be looked up."""
    times_confirms: bool = False
    """Each message's wait for its confirm is a figure, too."""
    target: Target | None = None

    @property
    def body_bytes(self) -> int:
        return self.messages[0].body_bytes

    @property
    def is_one_way(self) -> bool:
        """Nobody consumes: what is published stays, and is purged after each round."""
        return not self.subscriptions

    @property
    def is_plain(self) -> bool:
        """Into one queue without arguments, and out of it."""
        topology = self.topology
        return not (topology.exchanges or topology.queues[1:] or topology.queues[0].arguments)

    @property
    def is_lone(self) -> bool:
        """One publisher waits for the confirm of each message: what the floor can play."""
        return self.times_confirms and self.is_plain and self.publishers * self.window == 1

    @property
    def publish_bytes(self) -> int:
        return len(self.messages[0].publish_frames())

    @property
    def delivery_frames(self) -> bytes:
        """One delivery, if the broker changes nothing."""
        return self.messages[0].delivery_frames(consumer_tag(0))


def consumer_tag(number: int) -> str:
    return f"c{number:05}"
