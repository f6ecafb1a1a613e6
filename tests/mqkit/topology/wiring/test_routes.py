"""The way of a message: sure, possible, or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology import Snapshot
from mqkit.topology.wiring.routes import Reach, Routes
from mqkit.topology.wiring.wiring import Wiring


def routes(*declarations: Exchange | Queue | Binding, besides: str = "") -> Routes:
    snapshot = Snapshot.of("/", declarations)
    wiring = Wiring.of_snapshot(snapshot)
    if besides:
        wiring = Wiring.of_snapshot(replace(snapshot, bound_besides=frozenset([besides])))
    return Routes(wiring)


def bound(kind: str, key: str = "a.b") -> Routes:
    return routes(Exchange("x", kind), Queue("q"), Binding("x", "q", key))


@pytest.mark.parametrize(
    ("kind", "binding", "key", "may", "surely"),
    [
        ("direct", "a.b", "a.b", True, True),
        ("direct", "a.b", "a", False, False),
        ("direct", "a.b", None, True, False),
        ("topic", "a.*", "a.b", True, True),
        ("topic", "a.*", "b.b", False, False),
        ("topic", "a.*", None, True, False),
        ("topic", "#", None, True, True),
        ("fanout", "", "any", True, True),
        ("headers", "", "any", True, False),
        ("x-consistent-hash", "1", "any", True, False),
    ],
)
def test_a_binding(kind: str, binding: str, key: str | None, may: bool, surely: bool) -> None:
    found = bound(kind, binding)
    assert found.may_reach("x", key) == Reach(("q",) if may else ())
    assert found.surely_reaches("x", key) == (("q",) if surely else ())


def test_the_default_exchange_knows_queues_by_name() -> None:
    found = routes(Queue("q"))
    assert found.may_reach("", "q").queues == ("q",) == found.surely_reaches("", "q")
    assert not found.may_reach("", "p")
    assert found.may_reach("", None)
    assert found.surely_reaches("", None) == ()


def test_exchanges_are_followed_once_each_and_alternates_are_possible() -> None:
    found = routes(
        Exchange("x", "fanout"),
        Exchange("y", "fanout"),
        Exchange("z", arguments={"alternate-exchange": "x"}),
        Queue("q"),
        Binding("x", "y", to_exchange=True),
        Binding("y", "x", to_exchange=True),
        Binding("y", "q"),
    )
    assert found.surely_reaches("x", "k") == ("q",)
    assert found.may_reach("z", "k").queues == ("q",)
    assert found.surely_reaches("z", "k") == ()


def test_an_alternate_gets_nothing_that_is_routed() -> None:
    found = routes(
        Exchange("x", "fanout", arguments={"alternate-exchange": "y"}),
        Exchange("y", "fanout"),
        Queue("p"),
        Queue("q"),
        Binding("x", "p"),
        Binding("y", "q"),
    )
    assert found.may_reach("x", "k").queues == ("p",)


def test_queues_that_the_broker_has_named_may_get_anything() -> None:
    found = routes(Exchange("x"), besides="x").may_reach("x", "k")
    assert found.is_open
    assert found
    assert found.queues == ()


def test_predeclared_exchanges_are_there() -> None:
    found = routes(Queue("q"), Binding("amq.topic", "q", "#"))
    assert found.is_there("amq.topic")
    assert found.is_there("")
    assert not found.is_there("gone")
    assert found.type_of("amq.topic") == "topic"
    assert found.type_of("gone") is None
    assert found.surely_reaches("amq.topic", None) == ("q",)
