"""No turn is long for a route, however many bindings it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicPublish,
    ExchangeBind,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
    TxCommit,
    TxSelect,
)
from reference_broker.core.exchange.long_route import (
    BINDINGS_PER_UNIT,
    PORTION_BINDINGS,
    ROUTE_LOOKS_MAX,
)
from reference_broker.testing.lone_broker import FRAME_MAX
from reference_broker.testing.two_tenants import TwoTenants

Action: TypeAlias = Callable[[], object]
Played: TypeAlias = Callable[..., TwoTenants]

PORTION_UNITS = PORTION_BINDINGS // BINDINGS_PER_UNIT
QUEUES = 20
BINDINGS = ROUTE_LOOKS_MAX + 2 * PORTION_BINDINGS


def publishes(count: int, exchange: str, key: str = "", **headers: Any) -> bytes:
    method, properties = BasicPublish(exchange, key), Properties(headers=headers or None)
    return b"".join(
        content_frames(1, method, properties, b"%d" % number, FRAME_MAX) for number in range(count)
    )


def bound(tenants: TwoTenants, exchange: str, type: str, key: str = "{}") -> None:
    """So many bindings between an exchange and a few queues, and one to a queue of its own."""
    tenants.busy.send(
        1,
        ExchangeDeclare(exchange, type),
        *[QueueDeclare(f"q{number}") for number in range(QUEUES)],
        QueueDeclare("last"),
        *[
            QueueBind(f"q{number % QUEUES}", exchange, key.format(number), arguments={"n": number})
            for number in range(BINDINGS)
        ],
        QueueBind("last", exchange, key.format("last")),
    )


def test_a_fanout_with_many_bindings(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        bound(tenants, "all", "fanout")
        return partial(tenants.busy.feed, publishes(3, "all") + publishes(1, "", "q1"))

    played(arrange, 10, PORTION_UNITS)


def test_a_key_with_many_bindings_behind_an_exchange(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        bound(tenants, "all", "direct", "k")
        tenants.busy.send(1, ExchangeDeclare("x", "topic"), ExchangeBind("all", "x", "#"))
        return partial(tenants.busy.feed, publishes(2, "x", "k"))

    played(arrange, 10, PORTION_UNITS)


def test_more_keys_than_one_to_many_bindings(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        bound(tenants, "all", "direct", "k")
        return partial(tenants.busy.feed, publishes(2, "all", "none", CC=["k", "l"]))

    played(arrange, 20, PORTION_UNITS)


def test_headers_that_meet_many_bindings(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        bound(tenants, "h", "headers")
        tenants.busy.send(1, ExchangeDeclare("x", "fanout"), ExchangeDeclare("a", "fanout"))
        tenants.busy.send(
            1,
            ExchangeBind("a", "x"),
            *[QueueBind(f"q{n % QUEUES}", "a", f"{n}") for n in range(BINDINGS)],
            ExchangeBind("h", "x"),
        )
        return partial(tenants.busy.feed, publishes(2, "x", n="1"))

    played(arrange, 20, PORTION_UNITS)


def test_a_transaction_to_many_bindings(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        bound(tenants, "all", "fanout")
        tenants.busy.send(1, TxSelect())
        commit = method_frame(1, TxCommit())
        return partial(tenants.busy.feed, publishes(3, "all") + commit)

    played(arrange, 10, PORTION_UNITS)
