"""The scenarios of ``mqkit bench broker``, each made for a body size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mqkit_bench.broker import families
from mqkit_bench.broker.message import Message
from mqkit_bench.broker.scenario import Scenario, Subscription, Target
from mqkit_bench.broker.topology import Binding, Exchange, Queue, Topology

KIB = 1024
QUEUE = "bench.broker"
EXCHANGE = "bench.exchange"
DEAD_LETTERS = "bench.dead"
TTL_MS = 50
PRIORITIES = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """A scenario of the catalogue. ``bodies`` are the sizes that it is run with unless told."""

    name: str
    what: str
    make: Callable[[int], Scenario]
    bodies: tuple[int, ...] = (KIB,)


def persistent(body_bytes: int) -> Scenario:
    return families.one_queue("persistent", body_bytes)


def transient(body_bytes: int) -> Scenario:
    return families.one_queue("transient", body_bytes, persistent=False)


def auto_ack(body_bytes: int) -> Scenario:
    return Scenario(
        name="auto-ack",
        topology=Topology((Queue(QUEUE, durable=False),)),
        messages=(Message(routing_key=QUEUE, body_bytes=body_bytes, persistent=False),),
        subscriptions=(Subscription((QUEUE,), ack_every=0),),
        confirms=False,
        window=8192,
    )


def publish_only(body_bytes: int) -> Scenario:
    return Scenario(
        name="publish-only",
        topology=Topology((Queue(QUEUE),)),
        messages=(Message(routing_key=QUEUE, body_bytes=body_bytes),),
        subscriptions=(),
    )


def ten_to_ten(body_bytes: int) -> Scenario:
    return families.connections(10, body_bytes)


def ten_queues(body_bytes: int) -> Scenario:
    queues = tuple(f"{QUEUE}.{number}" for number in range(10))
    return Scenario(
        name="10 to 10, 10 queues",
        topology=Topology(tuple(map(Queue, queues))),
        messages=families.round_robin(queues, body_bytes),
        subscriptions=tuple(Subscription((queue,)) for queue in queues),
        publishers=10,
        window=512,
        target=Target(3.3),
    )


def consumers(body_bytes: int) -> Scenario:
    return families.consumers(50_000, body_bytes)


def fan_out(body_bytes: int) -> Scenario:
    queues = tuple(f"{QUEUE}.{number}" for number in range(5))
    return Scenario(
        name="fan-out 5",
        topology=Topology(
            tuple(map(Queue, queues)),
            (Exchange(EXCHANGE, "fanout"),),
            tuple(Binding(EXCHANGE, queue) for queue in queues),
        ),
        messages=(Message(exchange=EXCHANGE, routing_key="", body_bytes=body_bytes),),
        subscriptions=tuple(Subscription((queue,)) for queue in queues),
        copies=len(queues),
    )


def topic(body_bytes: int) -> Scenario:
    return families.bindings(10_000, body_bytes)


def many_queues(body_bytes: int) -> Scenario:
    return families.queues(10_000, body_bytes)


def priority(body_bytes: int) -> Scenario:
    return Scenario(
        name="priority",
        topology=Topology((Queue(QUEUE, arguments={"x-max-priority": PRIORITIES}),)),
        messages=tuple(
            Message(routing_key=QUEUE, body_bytes=body_bytes, priority=7 * number % PRIORITIES)
            for number in range(PRIORITIES)
        ),
        subscriptions=(Subscription((QUEUE,)),),
    )


def expiry(body_bytes: int) -> Scenario:
    """Nobody consumes from the first queue: each message expires there, and is dead-lettered."""
    arguments = {
        "x-message-ttl": TTL_MS,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": DEAD_LETTERS,
    }
    return Scenario(
        name="TTL + DLX",
        topology=Topology((Queue(QUEUE, arguments=arguments), Queue(DEAD_LETTERS))),
        messages=(Message(routing_key=QUEUE, body_bytes=body_bytes),),
        subscriptions=(Subscription((DEAD_LETTERS,)),),
        changed_on_the_way=True,
        target=Target(3),
    )


def lone(count: int, target: Target, publishers: int = 1) -> Callable[[int], Scenario]:
    """Makes the scenario of publishers that wait with so many messages in flight."""

    def make(body_bytes: int) -> Scenario:
        return replace(families.in_flight(count, body_bytes, publishers), target=target)

    return make


_THREE_BODIES = (KIB, 2 * KIB, 16)

_IN_FLIGHT = (
    Entry("in-flight-1", "one publisher, 1 in flight", lone(1, Target(1.5, 0.5, 1.4))),
    Entry("in-flight-10", "one publisher, 10 in flight", lone(10, Target(1.5, 0.55))),
    Entry("in-flight-100", "one publisher, 100 in flight", lone(100, Target(3.2, 0.2))),
    Entry("in-flight-1000", "one publisher, 1,000 in flight", lone(1_000, Target(5, 0.17))),
    Entry("in-flight-8192", "one publisher, 8,192 in flight", lone(8_192, Target(5, 0.17))),
    Entry("in-flight-20x1", "20 publishers, 1 in flight each", lone(1, Target(2), 20)),
)
"""Publishers that wait for confirms with N messages in flight."""

CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry("persistent", "persistent, confirm, ack", persistent, _THREE_BODIES),
        Entry("transient", "transient, confirm, ack", transient, _THREE_BODIES),
        Entry("auto-ack", "transient, no confirm, auto-ack", auto_ack, _THREE_BODIES),
        Entry("publish-only", "persistent, confirm, purged", publish_only, _THREE_BODIES),
        Entry("ten-to-ten", "10 publishers and 10 consumers on one queue", ten_to_ten),
        Entry("ten-queues", "10 publishers, 10 queues with a consumer each", ten_queues),
        Entry("consumers", "50,000 consumers over 1,000 connections, 1,000 queues", consumers),
        Entry("fan-out", "a fanout exchange, 5 queues, 5 consumers", fan_out),
        Entry("topic", "a topic exchange with 10,000 bindings, 10 queues", topic),
        Entry("queues", "10,000 queues with a consumer each", many_queues),
        *_IN_FLIGHT,
        Entry("priority", "a queue with 10 priorities in use", priority),
        Entry("ttl-dlx", f"every message expires after {TTL_MS} ms and is dead-lettered", expiry),
    )
}
"""All scenarios by name: persistent, confirmed and acked, unless their text says something else."""
