"""exchange: the bindings that it holds, and where they lead."""

from __future__ import annotations

import pytest

from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import Exchange, ExchangeType, predeclared_exchanges
from reference_broker.core.message.message_headers import NO_HEADERS


@pytest.mark.parametrize("type", list(ExchangeType))
def test_every_type_forgets_what_is_removed(type: ExchangeType) -> None:
    exchange = Exchange("x", type)
    binding = Binding("x", "q", "1")
    exchange.add(binding)
    assert list(exchange.match("1", NO_HEADERS)) == [binding]
    exchange.remove(binding)
    assert list(exchange.match("1", NO_HEADERS)) == []
    assert not exchange.bindings


def test_downstream_counts_the_bindings_to_each_exchange() -> None:
    exchange = Exchange("x", ExchangeType.DIRECT)
    one, two = (Binding("x", "y", key, destination_is_queue=False) for key in "ab")
    exchange.add(one)
    exchange.add(two)
    exchange.add(Binding("x", "q", "a"))
    assert exchange.downstream == {"y": 2}
    exchange.remove(one)
    assert exchange.downstream == {"y": 1}
    exchange.remove(two)
    assert exchange.downstream == {}


def test_a_binding_is_added_once() -> None:
    exchange = Exchange("x", ExchangeType.TOPIC)
    exchange.add(Binding("x", "q", "k"))
    with pytest.raises(AssertionError):
        exchange.add(Binding("x", "q", "k"))


def test_the_alternate_is_an_argument() -> None:
    arguments = {"alternate-exchange": "other"}
    assert Exchange("x", ExchangeType.DIRECT, arguments=arguments).alternate == "other"
    assert Exchange("x", ExchangeType.DIRECT).alternate is None


def test_predeclared_ones_are_not_shared() -> None:
    one, other = predeclared_exchanges(), predeclared_exchanges()
    assert [(x.name, x.type, x.internal) for x in one] == [
        ("", "direct", False),
        ("amq.direct", "direct", False),
        ("amq.fanout", "fanout", False),
        ("amq.headers", "headers", False),
        ("amq.match", "headers", False),
        ("amq.rabbitmq.trace", "topic", True),
        ("amq.topic", "topic", False),
    ]
    assert all(x.durable for x in one)
    one[1].add(Binding("amq.direct", "q"))
    assert not other[1].bindings
