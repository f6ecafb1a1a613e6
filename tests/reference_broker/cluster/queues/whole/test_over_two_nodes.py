"""AMQP clients of one node that work with queues of another, over a link in memory."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, decode_header
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicDeliver,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicQos,
    BasicReject,
    ChannelClose,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
    TxCommit,
    TxCommitOk,
    TxSelect,
)
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.lone_broker import LoneClient

PERSISTENT = Properties(delivery_mode=2)


class Two:
    """The nodes "a", with a client, and "b", with the queue "q"."""

    def __init__(self, **arguments: object) -> None:
        self.nodes = LinkedBrokers("a", "b")
        self.queue: Queue = self.nodes.declare("b", "q", durable=True, **arguments)
        self.client = self.nodes["a"].lone.client(channels=(1, 2))

    def send(self, *methods: Method, client: LoneClient | None = None, channel: int = 1) -> None:
        (client or self.client).send(channel, *methods)
        self.nodes.settle()

    def publish(self, *bodies: bytes, key: str = "q", **more: Any) -> None:
        for body in bodies:
            self.client.publish(key, body, properties=PERSISTENT, **more)
        self.nodes.settle()

    def hears(self) -> list[Method]:
        self.nodes.settle()
        return self.client.methods()

    def bodies(self) -> list[bytes]:
        self.nodes.settle()
        return [got.body for got in self.client.received() if isinstance(got.method, BasicDeliver)]


@pytest.fixture
def two() -> Two:
    return Two()


def test_publish_confirm_consume_ack(two: Two) -> None:
    two.client.select_confirms()
    two.publish(b"1", b"2", b"3")
    assert two.hears() == [BasicAck(1), BasicAck(2), BasicAck(3)]
    assert two.queue.ready == 3
    two.send(BasicConsume("q", "tag"), channel=2)
    assert two.bodies() == [b"1", b"2", b"3"]
    assert (two.queue.ready, two.queue.unacked) == (0, 3)
    two.send(BasicAck(3, multiple=True), channel=2)
    assert two.queue.unacked == 0


def test_a_get_sees_what_was_published_just_before(two: Two) -> None:
    two.client.publish("q", b"1")
    two.client.send(1, BasicGet("q"), BasicGet("q"))
    got, empty = two.hears()
    assert isinstance(got, BasicGetOk)
    assert (got.message_count, got.redelivered) == (0, False)
    assert empty == BasicGetEmpty()


def test_a_declaration_counts_what_was_published_just_before(two: Two) -> None:
    two.client.publish("q", b"1")
    two.send(QueueDeclare("q", durable=True))
    assert two.hears() == [QueueDeclareOk("q", 1, 0)]


def test_what_is_rejected_goes_to_the_dead_letter_exchange_of_the_home() -> None:
    two = Two(x_dead_letter_exchange="amq.fanout")
    two.nodes.declare("a", "dead", durable=True)
    two.send(QueueBind("dead", "amq.fanout"))
    two.publish(b"1")
    two.send(BasicGet("q"), BasicReject(1, requeue=False))
    assert two.queue.unacked == two.queue.ready == 0
    two.send(BasicGet("dead"))
    assert [type(method) for method in two.hears()][-1] is BasicGetOk


def test_what_comes_back_is_redelivered_at_its_place(two: Two) -> None:
    two.publish(b"1", b"2", b"3")
    two.send(BasicQos(prefetch_count=2), BasicConsume("q", "tag"))
    assert two.bodies() == [b"1", b"2"]
    two.send(BasicNack(1, requeue=True))
    got = [(it.body, it.method.redelivered) for it in two.client.received()]  # type: ignore[attr-defined]
    assert got == [(b"1", True)]


def test_a_consumer_that_is_cancelled_gives_back_what_nobody_saw(two: Two) -> None:
    two.send(BasicQos(prefetch_count=1), BasicConsume("q", "tag"))
    two.publish(b"1", b"2")
    two.client.received()
    two.send(BasicCancel("tag"), BasicAck(1))
    assert two.hears() == [BasicCancelOk("tag")]
    two.send(BasicGet("q"))
    (got,) = two.hears()
    assert isinstance(got, BasicGetOk)
    assert not got.redelivered


def test_a_client_that_goes_gives_back_all(two: Two) -> None:
    two.publish(b"1", b"2")
    two.send(BasicQos(prefetch_count=1), BasicConsume("q", "tag"))
    two.client.disconnect()
    two.nodes.settle()
    assert (two.queue.ready, two.queue.unacked, len(two.queue.consumers)) == (2, 0, 0)


def test_a_full_queue_refuses_exactly() -> None:
    two = Two(x_max_length=2, x_overflow="reject-publish")
    two.client.select_confirms()
    for number in range(4):
        two.client.publish("q", b"%d" % number)
    answers = two.hears()
    assert [it for it in answers if isinstance(it, BasicNack)] == [BasicNack(3), BasicNack(4)]
    assert [it for it in answers if isinstance(it, BasicAck)] == [BasicAck(1), BasicAck(2)]


def test_a_transaction(two: Two) -> None:
    two.send(TxSelect())
    two.publish(b"1")
    assert two.queue.ready == 0
    two.send(TxCommit())
    assert two.hears()[-1] == TxCommitOk()
    assert two.queue.ready == 1


def test_purge_and_delete(two: Two) -> None:
    two.publish(b"1", b"2")
    two.send(QueuePurge("q"))
    assert two.hears() == [QueuePurgeOk(2)]
    two.publish(b"3")
    two.send(QueueDelete("q", if_empty=True))
    (closed,) = two.hears()
    assert isinstance(closed, ChannelClose)
    two.send(QueueDelete("q"), channel=2)
    assert two.hears() == [QueueDeleteOk(1)]
    assert "q" not in two.nodes["b"].lone.broker.vhosts["/"].queues


def test_an_exclusive_consumer_has_the_queue_of_another_node_to_itself(two: Two) -> None:
    other = two.nodes["b"].lone.client()
    two.send(BasicConsume("q", "tag", exclusive=True))
    assert two.hears() == [BasicConsumeOk("tag")]
    two.send(BasicConsume("q", "tag"), client=other)
    (closed,) = other.methods()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_text == "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"


def test_the_next_one_takes_over_across_nodes() -> None:
    two = Two(x_single_active_consumer=True)
    other = two.nodes["b"].lone.client()
    two.send(BasicConsume("q", "first"))
    two.send(BasicConsume("q", "second"), client=other)
    other.received()
    two.publish(b"1")
    assert two.bodies() == [b"1"]
    two.send(BasicAck(1), BasicCancel("first"))
    two.publish(b"2")
    assert [got.body for got in other.received()] == [b"2"]


def test_a_queue_that_is_deleted_cancels_its_consumers_on_all_nodes(two: Two) -> None:
    two.send(BasicConsume("q", "tag"))
    two.client.received()
    other = two.nodes["b"].lone.client()
    two.send(QueueDelete("q"), client=other)
    assert two.hears() == [BasicCancel("tag", nowait=True)]


def test_a_lost_link_nacks_cancels_and_gives_back(two: Two) -> None:
    two.publish(b"1")
    two.send(BasicConsume("q", "tag"))
    two.client.received()
    confirming = two.nodes["a"].lone.client()
    confirming.select_confirms()
    confirming.publish("q", b"2")
    two.nodes.cut("a", "b")
    two.nodes.settle()
    assert two.hears() == [BasicCancel("tag", nowait=True)]
    assert confirming.methods() == [BasicNack(1)]
    assert (two.queue.ready, two.queue.unacked) == (1, 0)
    confirming.publish("q", b"3")
    two.nodes.settle()
    assert confirming.methods() == [BasicNack(2)]
    two.send(BasicGet("q"), channel=2)
    (closed,) = two.hears()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_code == 404
    two.nodes.join("a", "b")
    two.nodes.settle()
    two.send(BasicAck(1))  # of before: it changes nothing
    assert two.queue.ready == 1
    confirming.publish("q", b"4")
    two.nodes.settle()
    assert confirming.methods() == [BasicAck(3)]


def test_an_answer_finds_the_client_that_asked_on_another_node(two: Two) -> None:
    server = two.nodes["b"].lone.client()
    two.send(BasicConsume("amq.rabbitmq.reply-to", "answers", no_ack=True))
    two.client.received()
    asking = Properties(reply_to="amq.rabbitmq.reply-to")
    two.client.publish("q", b"question", properties=asking)
    two.send(BasicConsume("q", "tag", no_ack=True), client=server)
    (question,) = [it for it in server.received() if isinstance(it.method, BasicDeliver)]
    address = decode_header(question.header)[1].reply_to
    assert address is not None
    assert address != "amq.rabbitmq.reply-to"
    two.send(QueueDeclare(address, passive=True), client=server)
    assert server.methods() == [QueueDeclareOk(address, 0, 1)]
    server.publish(address, b"answer")
    two.nodes.settle()
    assert [(it.body, it.method.consumer_tag) for it in two.client.received()] == [  # type: ignore[attr-defined]
        (b"answer", "answers")
    ]
    two.nodes.cut("a", "b")
    server.publish(address, b"too late", mandatory=True)
    assert [type(method).__name__ for method in server.methods()] == ["BasicReturn"]


@pytest.mark.parametrize("no_ack", [False, True])
def test_what_was_published_before_a_cancel_is_delivered_before_it(no_ack: bool) -> None:
    two = Two()
    two.send(BasicConsume("q", "goes", no_ack=no_ack), BasicConsume("q", "stays", no_ack=no_ack))
    two.client.received()
    for number in range(10):
        two.client.publish("q", b"%d" % number)
    two.send(BasicCancel("goes"))
    got = two.client.received()
    tags = [it.method.consumer_tag for it in got if isinstance(it.method, BasicDeliver)]
    assert (tags.count("goes"), tags.count("stays")) == (5, 5)
    ends = [place for place, it in enumerate(got) if isinstance(it.method, BasicCancelOk)]
    goes = [place for place, it in enumerate(got) if it.body and "goes" in str(it.method)]
    assert max(goes) < ends[0]
