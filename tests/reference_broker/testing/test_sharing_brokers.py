"""sharing_brokers: an etcd that answers when it is told to, and nodes that hear of it."""

from __future__ import annotations

from mqkit.wire.methods import QueueDeclare, QueueDeclareOk
from reference_broker.testing.sharing_brokers import SharingBrokers


def test_nothing_is_answered_by_itself() -> None:
    nodes = SharingBrokers("a", "b")
    assert nodes.definitions == ["def/permission/%2F/guest", "def/user/guest", "def/vhost/%2F"]
    client = nodes["a"].lone.client()
    client.send(1, QueueDeclare("q"))
    assert client.methods() == []
    nodes.carry_out(nodes["a"])
    assert "def/queue/%2F/q" in nodes.rows
    assert client.methods() == [], "the node's view does not have it"
    nodes.settle()
    assert client.methods() == [QueueDeclareOk("q", 0, 0)]


def test_a_node_that_does_not_hear_is_told_everything_later() -> None:
    nodes = SharingBrokers("a", "b")
    nodes["b"].hears = False
    client = nodes["a"].lone.client()
    client.send(1, QueueDeclare("q"))
    nodes.settle()
    assert not nodes["b"].lone.broker.vhosts["/"].queues
    nodes["b"].hears = True
    nodes.settle()
    assert list(nodes["b"].lone.broker.vhosts["/"].queues) == ["q"]
