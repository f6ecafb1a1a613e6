"""shape: a broker's definitions, and what rows amount to, are alike and comparable."""

from __future__ import annotations

from mqkit.wire.methods import (
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
    QueueDelete,
)
from reference_broker.simulation.cluster.shape import Rows, leftovers_in, shape_in, shape_of
from reference_broker.testing.sharing_brokers import RUN, SharingBrokers


def _rows(nodes: SharingBrokers) -> Rows:
    return {key: (nodes.rows[key].value, nodes.rows[key].revision) for key in nodes.definitions}


def test_a_broker_has_what_the_rows_amount_to() -> None:
    nodes = SharingBrokers("a", "b")
    client = nodes["a"].lone.client()
    client.send(1, ExchangeDeclare("x", "topic", durable=True))
    client.send(1, QueueDeclare("q", durable=True))
    client.send(1, QueueDeclare("mine", exclusive=True))
    for queue in ("q", "mine"):
        client.send(1, QueueBind(queue, "x", "k"))
    nodes.settle()
    rows = _rows(nodes)
    assert len(shape_in(rows)) == len(rows) == 8
    for node in nodes.nodes.values():
        assert shape_of(node.lone.broker) == shape_in(rows)
    client.send(1, QueueDelete("q"))
    nodes.settle()
    rows = _rows(nodes)
    assert len(shape_in(rows)) == 6 == len(rows) - 1, "the binding is nobody's"
    assert shape_of(nodes["b"].lone.broker) == shape_in(rows)
    assert shape_of(SharingBrokers("a").nodes["a"].lone.broker) != shape_in(rows)


def test_what_ought_to_be_removed_is_named() -> None:
    nodes = SharingBrokers("a")
    client = nodes["a"].lone.client()
    client.send(1, ExchangeDeclare("x", "topic", auto_delete=True))
    client.send(1, QueueDeclare("q"))
    client.send(1, QueueBind("q", "x", "k"))
    nodes.settle()
    assert leftovers_in(_rows(nodes), {"a": RUN}) == []
    assert leftovers_in(_rows(nodes), {"a": RUN + 1}) == ["queue/%2F/q"]
    del nodes.rows["def/queue/%2F/q"]
    kinds = [key.partition("/")[0] for key in leftovers_in(_rows(nodes), {"a": RUN})]
    assert kinds == ["binding", "exchange"]
