from __future__ import annotations

import pytest

from mqkit.wire.methods import BasicQos, ExchangeDeclare, Method, QueueBind, QueueDeclare
from reference_broker.simulation.events import definitions
from reference_broker.simulation.events.definitions import definition_of


def test_a_request_is_the_definition_that_it_asks_for() -> None:
    declared = definition_of(QueueDeclare("q", durable=True, arguments={"a": 1}))
    assert declared == definitions.queue("q", {"a": 1}, durable=True)
    declared = definition_of(ExchangeDeclare("e", "topic", auto_delete=True))
    assert declared == definitions.exchange("e", "topic", {}, durable=False, auto_delete=True)
    bound = definition_of(QueueBind("q", "e", "key", arguments={"a": 1}))
    assert bound == definitions.binding("e", ("queue", "q"), "key", {"a": 1})
    assert bound is not None
    assert bound.ends == (("exchange", "e"), ("queue", "q"))


@pytest.mark.parametrize(
    "method", [BasicQos(), QueueDeclare("q", passive=True), ExchangeDeclare("e", passive=True)],
    ids=["qos", "passive queue", "passive exchange"],
)  # fmt: skip
def test_other_requests_define_nothing(method: Method) -> None:
    assert definition_of(method) is None


def test_bindings_are_the_same_when_all_of_them_is_whatever_the_order_of_arguments() -> None:
    first = definitions.binding("e", ("queue", "q"), "key", {"a": 1, "b": 2})
    assert first == definitions.binding("e", ("queue", "q"), "key", {"b": 2, "a": 1})
    others = [
        definitions.binding("f", ("queue", "q"), "key", {"a": 1, "b": 2}),
        definitions.binding("e", ("exchange", "q"), "key", {"a": 1, "b": 2}),
        definitions.binding("e", ("queue", "q"), "", {"a": 1, "b": 2}),
        definitions.binding("e", ("queue", "q"), "key", {"a": 1, "b": 3}),
    ]
    assert len({first.key, *(each.key for each in others)}) == 5
