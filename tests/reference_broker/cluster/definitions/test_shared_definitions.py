"""shared_definitions: a request waits until the others were asked, and is told what they said."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    ConnectionClose,
    ExchangeDeclare,
    ExchangeDeclareOk,
    QueueBind,
    QueueBindOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
)
from reference_broker.cluster.coordinator import Delete, InDoubt, Outcome, Refused
from reference_broker.cluster.definitions.shared_value import VALUE_BYTES_MAX
from reference_broker.core.work.until import NotYet
from reference_broker.errors import ChannelException
from reference_broker.testing.sharing_brokers import SharingBrokers

QUEUE = "def/queue/%2F/q"


def test_a_declaration_is_answered_when_every_node_has_it() -> None:
    nodes = SharingBrokers("a", "b")
    nodes["b"].hears = False
    client = nodes["a"].lone.client()
    client.send(1, QueueDeclare("q", auto_delete=True))
    nodes.settle()
    assert "q" in nodes["a"].lone.broker.vhosts["/"].queues
    assert client.methods() == [], "b routes by an old view"
    nodes["b"].hears = True
    nodes.settle()
    assert client.methods() == [QueueDeclareOk("q", 0, 0)]
    assert "q" in nodes["b"].lone.broker.vhosts["/"].queues


def test_a_queue_without_a_name_gets_one_name() -> None:
    nodes = SharingBrokers("a", "b")
    client = nodes["a"].lone.client()
    client.send(1, QueueDeclare(""))
    client.send(1, QueueDeclare(""))
    nodes.settle()
    first, second = client.methods()
    assert isinstance(first, QueueDeclareOk)
    assert isinstance(second, QueueDeclareOk)
    assert first.queue.startswith("amq.gen-")
    assert first.queue != second.queue
    assert list(nodes["b"].lone.broker.vhosts["/"].queues) == [first.queue, second.queue]


def test_of_two_that_declare_a_name_differently_one_is_refused() -> None:
    nodes = SharingBrokers("a", "b")
    clients = [nodes[name].lone.client() for name in "ab"]
    for most, client in enumerate(clients, 1):
        client.send(1, QueueDeclare("q", arguments={"x-max-length": most}))
    nodes.settle()
    answers = [str(client.methods()[0]) for client in clients]
    assert sum("QueueDeclareOk" in answer for answer in answers) == 1
    assert sum("PRECONDITION_FAILED - inequivalent arg" in answer for answer in answers) == 1
    assert [key for key in nodes.definitions if "/queue/" in key] == [QUEUE]


def test_a_deletion_says_how_much_was_there() -> None:
    nodes = SharingBrokers("a", "b")
    client = nodes["a"].lone.client()
    client.send(1, QueueDeclare("q"))
    nodes.settle()
    for _ in range(3):
        client.publish("q")
    client.send(1, QueueDelete("q"))
    nodes.settle()
    assert client.methods()[1:] == [QueueDeleteOk(3)]
    assert QUEUE not in nodes.rows
    assert "q" not in nodes["b"].lone.broker.vhosts["/"].queues


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Refused("etcdserver: mvcc: database space exceeded", True), "the change was not made"),
        (Refused("no leader", False), "the change was not made"),
        (InDoubt("no answer"), "the change may have been made"),
    ],
)
def test_where_nobody_can_be_asked_the_connection_is_told_why(outcome: Outcome, words: str) -> None:
    nodes = SharingBrokers("a", "b")
    client, other = nodes["a"].lone.client(), nodes["a"].lone.client()
    other.send(1, QueueDeclare("there"))
    nodes.settle()
    other.received()
    nodes.refusal = outcome
    client.send(1, QueueDeclare("q"))
    client.send(1, QueueDeclare("behind it"))
    for _ in range(40):
        nodes.settle()
        nodes.clock.forward(1)
    (closed,) = client.methods()
    assert isinstance(closed, ConnectionClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (541, 50, 10)
    assert words in closed.reply_text
    other.send(1, QueueDeclare("there", passive=True))
    other.publish("there")
    assert nodes["a"].lone.broker.vhosts["/"].queues["there"].ready == 1
    assert "q" not in nodes["a"].lone.broker.vhosts["/"].queues


def test_who_only_asks_waits_for_nobody_who_has_seen_what_was_asked_for() -> None:
    nodes = SharingBrokers("a", "b")
    owner, reader = nodes["a"].lone.client(), nodes["a"].lone.client()
    owner.send(1, ExchangeDeclare("old x", "fanout"))
    owner.send(1, QueueDeclare("old"))
    nodes.settle()
    owner.received()
    nodes["b"].hears = False
    owner.send(1, QueueDeclare("new"))
    nodes.settle()
    asked = [
        ExchangeDeclare("old x", "fanout", passive=True),
        QueueDeclare("old", passive=True),
        ExchangeDeclare("amq.fanout", "fanout", passive=True),
        QueueDeclare("new", passive=True),
    ]
    for method in asked:
        reader.send(1, method)
    nodes.settle()
    assert reader.methods() == [ExchangeDeclareOk(), QueueDeclareOk("old"), ExchangeDeclareOk()]
    assert owner.methods() == []
    nodes["b"].hears = True
    nodes.settle()
    assert reader.methods() == owner.methods() == [QueueDeclareOk("new")]


def test_an_exclusive_queue_ends_with_its_connection_though_that_ended_while_it_waited() -> None:
    nodes = SharingBrokers("a", "b")
    client, waits = nodes["a"].lone.client(), nodes["a"].lone.client()
    client.send(1, QueueDeclare("mine", exclusive=True))
    nodes.settle()
    assert len(client.methods()) == 1
    other = nodes["b"].lone.client()
    other.send(1, QueueDeclare("mine", passive=True))
    assert "RESOURCE_LOCKED" in str(other.methods()[0])
    waits.send(1, QueueDeclare("late", exclusive=True))
    for gone in (client, waits):
        gone.disconnect()
    nodes.settle()
    assert not [key for key in nodes.definitions if "/queue/" in key]
    assert not nodes["b"].lone.broker.vhosts["/"].queues


def test_an_auto_delete_exchange_goes_with_its_last_binding() -> None:
    nodes = SharingBrokers("a", "b")
    client = nodes["a"].lone.client()
    client.send(1, ExchangeDeclare("x", "fanout", auto_delete=True))
    client.send(1, QueueDeclare("q"))
    client.send(1, QueueBind("q", "x", ""))
    nodes.settle()
    answers = client.methods()
    assert answers == [ExchangeDeclareOk(), QueueDeclareOk("q", 0, 0), QueueBindOk()]
    route = nodes["b"].lone.broker.vhosts["/"].route("x", "", b"")
    assert route is not None
    assert [queue.name for queue in route] == ["q"]
    client.send(1, QueueDelete("q"))
    nodes.settle()
    assert client.methods() == [QueueDeleteOk(0)]
    for node in nodes.nodes.values():
        assert "x" not in node.lone.broker.vhosts["/"].exchanges
    assert "def/exchange/%2F/x" not in nodes.rows


def test_what_is_too_large_for_etcd_is_refused_before_it_is_asked() -> None:
    nodes = SharingBrokers("a")
    vhost = nodes["a"].lone.broker.vhosts["/"]
    with pytest.raises(ChannelException, match="larger than the cluster takes"):
        vhost.declare_queue("q", arguments={"x": "y" * VALUE_BYTES_MAX})
    assert not nodes["a"].etcd.asked
    with pytest.raises(NotYet):
        vhost.declare_queue("q", arguments={"x": "y" * 1_000})


def test_a_change_keeps_the_revision_that_made_its_object() -> None:
    nodes = SharingBrokers("a")
    client = nodes["a"].lone.client()
    client.send(1, ExchangeDeclare("x", "fanout", auto_delete=True))
    client.send(1, QueueDeclare("q"))
    client.send(1, QueueDeclare("q2"))
    nodes.settle()
    made_at = nodes["a"].definitions.follower.made_at("exchange/%2F/x")
    assert made_at == nodes.rows["def/exchange/%2F/x"].revision
    for name in ("q", "q2"):
        client.send(1, QueueBind(name, "x", ""))
        nodes.settle()
    assert nodes["a"].definitions.follower.made_at("exchange/%2F/x") == made_at
    assert nodes.rows["def/exchange/%2F/x"].revision > made_at, "it was written with each binding"
    assert len(nodes["a"].lone.broker.vhosts["/"].exchanges["x"].bindings) == 2
    nodes.write(Delete("def/exchange/%2F/x"))
    nodes.settle()
    assert "x" not in nodes["a"].lone.broker.vhosts["/"].exchanges


def test_a_queue_that_goes_by_itself_is_waited_for_by_whoever_names_it() -> None:
    nodes = SharingBrokers("a", "b")
    client, other = nodes["a"].lone.client(), nodes["a"].lone.client()
    client.send(1, QueueDeclare("q", auto_delete=True), BasicConsume("q", "c", no_ack=True))
    nodes.settle()
    client.received()
    client.send(1, BasicCancel("c"))
    other.send(1, QueueDeclare("q", durable=True))
    assert other.methods() == [], "it is there, and about to go"
    nodes.settle()
    assert other.methods() == [QueueDeclareOk("q", 0, 0)]
    assert nodes["b"].lone.broker.vhosts["/"].queues["q"].durable


def test_one_of_two_that_declare_a_name_exclusively_at_once_has_it() -> None:
    nodes = SharingBrokers("a", "b")
    clients = [nodes["a"].lone.client() for _ in range(2)]
    for client in clients:
        client.send(1, QueueDeclare("mine", exclusive=True))
    nodes.settle()
    answers = [str(client.methods()[0]) for client in clients]
    assert sum("QueueDeclareOk" in answer for answer in answers) == 1
    assert sum("RESOURCE_LOCKED" in answer for answer in answers) == 1
    assert "def/queue/%2F/mine" in nodes.rows
    for client in clients:
        client.disconnect()
    nodes.settle()
    assert "def/queue/%2F/mine" not in nodes.rows
