"""Counters: each in its place, and kept when channels, queues and connections are gone."""

from __future__ import annotations

from mqkit.wire.methods import (
    BasicConsume,
    BasicGet,
    ChannelClose,
    QueueDeclare,
    QueueDelete,
)
from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.http.rows import measures
from reference_broker.http.rows.totals import Totals
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


def busy(lone: LoneBroker) -> LoneClient:
    """Five messages published: two delivered without acks, one got, one unroutable, one ready."""
    client = lone.client(channels=(1, 2))
    client.send(1, QueueDeclare("q"))
    client.publish("q")
    client.send(1, BasicGet("q"))
    client.publish("nowhere")
    client.send(1, QueueDeclare("other"), BasicConsume("other", "c", no_ack=True))
    client.publish("other")
    client.publish("other", channel=2)
    client.publish("q")
    client.received()
    return client


def totals_of(lone: LoneBroker) -> Totals:
    totals = Totals(lone.broker)
    list(totals.read())
    return totals


def measured(lone: LoneBroker) -> measures.Values:
    return measures.measured_broker(lone.broker, totals_of(lone))


def named(names: tuple[str, ...], values: measures.Values) -> dict[str, int]:
    return dict(zip(names, values, strict=True))


def test_a_queue_is_measured_in_its_order() -> None:
    lone = LoneBroker()
    busy(lone)
    measured = named(measures.QUEUE, measures.measured_queue(lone.broker.vhosts["/"].queues["q"]))
    assert (measured["messages"], measured["messages_ready"]) == (2, 1)
    assert (measured["messages_unacknowledged"], measured["publish"]) == (1, 2)
    assert (measured["get"], measured["deliver_get"]) == (1, 1)


def test_the_broker_is_the_sum_of_its_virtual_hosts() -> None:
    lone = LoneBroker()
    busy(lone)
    known = named(measures.BROKER, measured(lone))
    assert (known["publish"], known["drop_unroutable"]) == (5, 1)
    assert (known["deliver_no_ack"], known["get"], known["deliver_get"]) == (2, 1, 3)
    assert (known["messages"], known["messages_ready"]) == (2, 1)
    assert (known["queue_declared"], known["channel_created"]) == (2, 2)


def test_what_is_gone_stays_counted() -> None:
    lone = LoneBroker()
    client = busy(lone)
    before = named(measures.BROKER, measured(lone))
    by_type = measures.measured_by_queue_type(totals_of(lone))[QueueType.CLASSIC]
    client.send(1, QueueDelete("q"), QueueDelete("other"), ChannelClose(200, "", 0, 0))
    client.disconnect()
    after = named(measures.BROKER, measured(lone))
    assert {name: after[name] for name in measures.TRAFFIC} == {
        name: before[name] for name in measures.TRAFFIC
    }
    assert after["queue_deleted"] == 2
    assert (after["connection_closed"], after["channel_closed"]) == (1, 2)
    assert measures.measured_by_queue_type(totals_of(lone))[QueueType.CLASSIC] == by_type


def test_octets_of_a_connection_are_its_virtual_hosts() -> None:
    lone = LoneBroker()
    client = busy(lone)
    totals = totals_of(lone).by_vhost["/"]
    assert totals.data == measures.measured_connection(client.connection)
    assert min(totals.data) > 0


def test_a_deleted_virtual_host_stays_counted_in_the_broker() -> None:
    lone = LoneBroker()
    busy(lone).disconnect()
    before = named(measures.BROKER, measured(lone))
    lone.broker.begin(lone.now_s, lone.wall_ms)
    lone.broker.delete_vhost("/")
    lone.broker.finish()
    after = named(measures.BROKER, measured(lone))
    assert {name: after[name] for name in measures.TRAFFIC} == {
        name: before[name] for name in measures.TRAFFIC
    }
    assert before["publish"] == 5
