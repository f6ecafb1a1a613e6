"""Leases of a queue that was deleted: its home has them until the client settles them, and no
longer."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import BasicAck, BasicGet, BasicNack, BasicReject, Method, QueueDelete
from reference_broker.cluster.queues.origin_session import OriginSession
from reference_broker.testing.homes.linked_brokers import LinkedBrokers


def _session(nodes: LinkedBrokers) -> OriginSession:
    """The one that b has of a."""
    (peer,) = nodes["b"].queue_links._peers.values()
    return peer.session


@pytest.mark.parametrize("settled", [BasicAck(1), BasicReject(1), BasicReject(1, False)])
def test_a_settlement_goes_to_the_home(settled: Method) -> None:
    nodes = LinkedBrokers("a", "b")
    nodes.declare("b", "q")
    client = nodes["a"].lone.client()
    client.publish("q")
    client.send(1, BasicGet("q"))
    nodes.settle()
    assert len(_session(nodes).leases) == 1
    nodes["b"].lone.client().send(1, QueueDelete("q"))
    nodes.settle()
    client.received()
    client.send(1, settled)
    nodes.settle()
    assert len(_session(nodes).leases) == 0
    assert client.methods() == []


def test_so_does_the_end_of_a_channel() -> None:
    nodes = LinkedBrokers("a", "b")
    nodes.declare("b", "q")
    client = nodes["a"].lone.client()
    client.publish("q")
    client.publish("q")
    client.send(1, BasicGet("q"), BasicGet("q"))
    nodes.settle()
    client.send(1, BasicNack(1))
    nodes["b"].lone.client().send(1, QueueDelete("q"))
    nodes.settle()
    client.disconnect()
    nodes.settle()
    assert len(_session(nodes).leases) == 0
