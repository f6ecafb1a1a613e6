"""No turn is long, whatever one user asks for: publishing, routing, consuming and settling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    BasicNack,
    BasicPublish,
    BasicQos,
    BasicRecover,
    ExchangeBind,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    TxCommit,
    TxSelect,
)
from reference_broker.core.queue.fan_out import BODY_BYTES_PER_QUEUE, PORTION_QUEUES
from reference_broker.core.work.budget import DECLARATION_UNITS, FAN_OUT_UNITS
from reference_broker.testing.lone_broker import FRAME_MAX
from reference_broker.testing.two_tenants import TwoTenants

Action: TypeAlias = Callable[[], object]
Played: TypeAlias = Callable[..., TwoTenants]

BODY_BYTES = 20_000

ROUTE_UNITS = 600
"""A route of 2,000 bindings, which is found in one step; later messages have it by then."""


def methods(*all_methods: Method) -> bytes:
    return b"".join(method_frame(1, method) for method in all_methods)


def publishes(
    count: int, exchange: str = "", key: str = "", body: bytes = b"", **properties: Any
) -> bytes:
    return b"".join(
        content_frames(
            1,
            BasicPublish(exchange, key.format(number)),
            Properties(**properties),
            body or b"%d" % number,
            FRAME_MAX,
        )
        for number in range(count)
    )


def fanout(tenants: TwoTenants, queues: int, name: str = "all") -> None:
    tenants.busy.send(
        1,
        ExchangeDeclare(name, "fanout"),
        *[QueueDeclare(f"q{number:05}") for number in range(queues)],
        *[QueueBind(f"q{number:05}", name) for number in range(queues)],
    )


def test_many_publishes_to_a_fanout(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fanout(tenants, 80)
        return partial(tenants.busy.feed, publishes(60, "all"))

    played(arrange, 40)


@pytest.mark.parametrize("keys", ["q", "q{}"])  # a run, and one by one
def test_many_publishes_with_long_headers(played: Played, keys: str) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(1, QueueDeclare("q"), *[QueueDeclare(f"q{n}") for n in range(80)])
        tables: list[dict[str, Any]] = [{"a": [[]] * 500, "n": number} for number in range(80)]
        octets = [publishes(1, key=keys.format(n), headers=each) for n, each in enumerate(tables)]
        return partial(tenants.busy.feed, b"".join(octets))

    played(arrange, 15)


def test_one_publish_to_a_fanout_of_many_queues(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fanout(tenants, 2_000)
        return partial(tenants.busy.feed, publishes(1, "all"))

    played(arrange, 20, ROUTE_UNITS)


def test_a_large_body_to_many_queues(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fanout(tenants, 2_000)
        return partial(tenants.busy.feed, publishes(1, "all", body=b"x" * BODY_BYTES))

    portion = PORTION_QUEUES + BODY_BYTES // BODY_BYTES_PER_QUEUE
    played(arrange, 3, FAN_OUT_UNITS * portion)


def test_a_commit_of_many_messages_to_a_fanout(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fanout(tenants, 120)
        tenants.busy.send(1, TxSelect())
        tenants.busy.send_bytes(publishes(30, "all"))
        return partial(tenants.busy.feed, methods(TxCommit()))

    played(arrange, 30)


def test_a_commit_of_many_messages(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(1, QueueDeclare("q"), TxSelect())
        tenants.busy.send_bytes(publishes(3_000, "", "q"))
        return partial(tenants.busy.feed, methods(TxCommit()))

    played(arrange, 25)


def test_a_headers_exchange_with_many_bindings(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(
            1,
            QueueDeclare("q"),
            ExchangeDeclare("h", "headers"),
            *[
                QueueBind("q", "h", arguments={"x-match": "all", "same": "1", f"k{number}": "1"})
                for number in range(1_500)
            ],
        )
        return partial(
            tenants.busy.feed, publishes(60, "h", headers={"same": "1", "k7": "1", "k8": "1"})
        )

    played(arrange, 1)  # found by the rarest header, and not binding by binding


def test_a_headers_exchange_with_many_bindings_that_match(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(
            1,
            QueueDeclare("q"),
            ExchangeDeclare("h", "headers"),
            *[
                QueueBind("q", "h", arguments={"x-match": "any", "same": "1", f"k{number}": "1"})
                for number in range(1_000)
            ],
        )
        return partial(tenants.busy.feed, publishes(60, "h", headers={"same": "1"}))

    played(arrange, 10, 1_000 // 4)


def test_a_chain_of_headers_exchanges(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(
            1,
            QueueDeclare("q"),
            *[ExchangeDeclare(f"h{number}", "headers") for number in range(401)],
            *[ExchangeBind(f"h{number + 1}", f"h{number}") for number in range(400)],
            QueueBind("q", "h400"),
        )
        return partial(tenants.busy.feed, publishes(60, "h0", headers={"a": "1"}))

    played(arrange, 10, 5 * 401 // 4)


def test_a_consistent_hash_with_many_queues(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(1, ExchangeDeclare("hash", "x-consistent-hash"))
        for number in range(1_000):
            tenants.busy.send(1, QueueDeclare(f"q{number}"), QueueBind(f"q{number}", "hash", "100"))
        return partial(tenants.busy.feed, publishes(500, "hash", "k{}"))

    played(arrange, 4, 1_000)


def test_many_consumers_of_one_queue_and_a_publish(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(1, QueueDeclare("q"))
        consumes = [BasicConsume("q", f"c{number}") for number in range(2_000)]
        return partial(tenants.busy.feed, methods(*consumes) + publishes(10, "", "q"))

    played(arrange, 30)


def test_consuming_and_cancelling_in_a_flood(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(1, QueueDeclare("q"))
        pair = methods(BasicConsume("q", "c"), BasicCancel("c"))
        return partial(tenants.busy.feed, pair * 1_000)

    played(arrange, 30)


def test_many_queues_with_all_priorities(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        declares = [
            QueueDeclare(f"q{number}", arguments={"x-max-priority": 255}) for number in range(300)
        ]
        return partial(tenants.busy.feed, methods(*declares))

    played(arrange, 10)


def unacked(tenants: TwoTenants, count: int, **arguments: object) -> None:
    """Have ``busy`` hold ``count`` messages of a queue unacked."""
    tenants.busy.send(1, QueueDeclare("q", arguments=arguments))
    tenants.busy.send_bytes(publishes(count, "", "q"))
    tenants.busy.send(1, BasicConsume("q", "c"))
    while tenants.busy.output():
        tenants.busy.resume_writing()
    assert len(tenants.busy.connection.channels[1].unacked) == count


def test_a_requeue_of_many(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        unacked(tenants, 4_000)
        return partial(tenants.busy.feed, methods(BasicCancel("c"), BasicNack(0, True, True)))

    played(arrange, 30)


def test_an_ack_of_many(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        unacked(tenants, 4_000)
        return partial(tenants.busy.feed, method_frame(1, BasicNack(0, True, False)))

    played(arrange, 30)


def test_recover_of_many_again_and_again(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        unacked(tenants, 1_000)
        return partial(tenants.busy.feed, methods(*[BasicRecover(True)] * 10))

    played(arrange, 15)  # 1,000 come back, and of what goes out two are a unit


def test_a_prefetch_that_wakes_many_consumers(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(1, QueueDeclare("q"))
        tenants.busy.send(1, *[BasicConsume("q", f"c{number}") for number in range(1_000)])
        return partial(tenants.busy.feed, methods(*[BasicQos(0, 5 + n, True) for n in range(50)]))

    played(arrange, 20)


@pytest.mark.parametrize(
    "frames",
    [
        [QueueDeclare(f"q{number}", arguments={"x-max-priority": 255}) for number in range(200)],
        [ExchangeDeclare(f"e{number}", "topic") for number in range(200)],
        [QueueBind("there", "amq.topic", f"k{number}.#") for number in range(200)],
    ],
    ids=["queues", "exchanges", "bindings"],
)
def test_many_declarations(played: Played, frames: list[Method]) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(1, QueueDeclare("there"))
        return partial(tenants.busy.feed, methods(*frames))

    played(arrange, 200 * DECLARATION_UNITS // 100)
