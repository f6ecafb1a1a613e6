"""Families of scenarios: the same job with more of something. ``growth`` walks along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqkit_bench.broker.message import Message
from mqkit_bench.broker.scenario import Scenario, Subscription
from mqkit_bench.broker.topology import Binding, Exchange, Queue, Topology

QUEUE = "bench.broker"
TOPICS = "bench.topics"
CONNECTIONS_MAX = 1_000
"""Consumers of a scenario are spread over so many connections at most."""
TOPIC_QUEUES = 10
QUEUE_CONNECTIONS = 10
WINDOW = 2048
FEW = 16
"""Acked at once, where a connection gets few messages."""


def one_queue(
    name: str,
    body_bytes: int,
    *,
    persistent: bool = True,
    backlog: int = 0,
    idle: Sequence[Subscription] = (),
) -> Scenario:
    """One publisher, one queue, one consumer; and connections that get no message."""
    queues = dict.fromkeys((QUEUE, *(queue for each in idle for queue in each.queues)))
    return Scenario(
        name=name,
        topology=Topology(tuple(Queue(queue, durable=persistent) for queue in queues)),
        messages=(Message(routing_key=QUEUE, body_bytes=body_bytes, persistent=persistent),),
        subscriptions=(Subscription((QUEUE,)), *idle),
        backlog=backlog,
    )


def in_flight(count: int, body_bytes: int, publishers: int = 1) -> Scenario:
    """Publishers that each wait with ``count`` messages in flight, and one consumer that acks."""
    subscription = Subscription((QUEUE,), ack_every=max(1, count // FEW))
    several = "" if publishers == 1 else f"{publishers} connections, "
    return replace(
        one_queue(f"{several}{count:,} in flight", body_bytes),
        subscriptions=(subscription,),
        publishers=publishers,
        window=count,
        times_confirms=True,
    )


def depth(count: int, body_bytes: int) -> Scenario:
    """A scenario over a standing backlog of ``count`` messages."""
    return one_queue(f"{count:,} deep", body_bytes, backlog=count)


def idle_connections(count: int, body_bytes: int) -> Scenario:
    """A scenario beside ``count`` connections that do nothing."""
    return one_queue(f"{count:,} idle connections", body_bytes, idle=[Subscription(())] * count)


def idle_consumers(count: int, body_bytes: int) -> Scenario:
    """A scenario beside ``count`` consumers of queues that are empty."""
    return one_queue(f"{count:,} idle consumers", body_bytes, idle=consumer_crowd(count))


def connections(count: int, body_bytes: int) -> Scenario:
    """``count`` publishers and as many consumers on one queue. They share a window."""
    return Scenario(
        name=f"{count:,} to {count:,}",
        topology=Topology((Queue(QUEUE),)),
        messages=(Message(routing_key=QUEUE, body_bytes=body_bytes),),
        subscriptions=tuple(
            Subscription((QUEUE,), prefetch=max(FEW, WINDOW // count), ack_every=FEW)
            for _ in range(count)
        ),
        publishers=count,
        window=max(2, 2 * WINDOW // count),
    )


def queues(count: int, body_bytes: int) -> Scenario:
    """Publishes to ``count`` queues in turn; each has a consumer, over ten connections."""
    names = tuple(f"{QUEUE}.{number:05}" for number in range(count))
    spread = min(count, QUEUE_CONNECTIONS)
    return Scenario(
        name=f"{count:,} queues",
        topology=Topology(tuple(map(Queue, names))),
        messages=round_robin(names, body_bytes),
        subscriptions=tuple(Subscription(names[first::spread]) for first in range(spread)),
    )


def consumers(count: int, body_bytes: int) -> Scenario:
    """``count`` consumers over at most a thousand connections, each of which has a queue."""
    crowd = consumer_crowd(count)
    names = [queue for each in crowd for queue in each.queues]
    return Scenario(
        name=f"{count:,} consumers",
        topology=Topology(tuple(map(Queue, names))),
        messages=round_robin(names, body_bytes),
        subscriptions=crowd,
    )


def consumer_crowd(count: int, connections: int = CONNECTIONS_MAX) -> tuple[Subscription, ...]:
    """``count`` consumers, or a few less, so that each connection has as many; each has a queue."""
    spread = min(count, connections)
    return tuple(
        Subscription((f"{QUEUE}.{number:05}",), count // spread, prefetch=FEW, ack_every=FEW)
        for number in range(spread)
    )


def bindings(count: int, body_bytes: int) -> Scenario:
    """A topic exchange with ``count`` bindings, words and both wildcards in them, of which each
    message matches one."""
    names = tuple(f"{QUEUE}.{number}" for number in range(TOPIC_QUEUES))
    words = [f"w{number:05}" for number in range(count)]
    return Scenario(
        name=f"{count:,} bindings",
        topology=Topology(
            tuple(map(Queue, names)),
            (Exchange(TOPICS, "topic"),),
            tuple(
                Binding(TOPICS, names[number % TOPIC_QUEUES], _pattern(number, word))
                for number, word in enumerate(words)
            ),
        ),
        messages=tuple(
            Message(exchange=TOPICS, routing_key=f"bench.{word}.created", body_bytes=body_bytes)
            for word in words
        ),
        subscriptions=tuple(Subscription((name,)) for name in names),
    )


def _pattern(number: int, word: str) -> str:
    return (f"bench.{word}.created", f"bench.{word}.*", f"*.{word}.#")[number % 3]


def round_robin(names: Sequence[str], body_bytes: int) -> tuple[Message, ...]:
    """A message to each queue in turn."""
    return tuple(Message(routing_key=name, body_bytes=body_bytes) for name in names)
