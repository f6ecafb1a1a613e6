"""Clients of one node with queues of another: what they hear is what they would hear next door."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicQos,
    ChannelClose,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
)
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.remote.attachment import WINDOW_BYTES
from reference_broker.core.vhost.firehose import TRACE_EXCHANGE
from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.lone_broker import LoneClient


class Two:
    """A client of node "a"; queues are declared at "b"."""

    def __init__(self) -> None:
        self.nodes = LinkedBrokers("a", "b")
        self.client: LoneClient = self.nodes["a"].lone.client(channels=(1, 2))

    def ask(self, *methods: Method, channel: int = 1) -> list[Any]:
        self.client.send(channel, *methods)
        return self.hears()

    def hears(self) -> list[Any]:
        self.nodes.settle()
        return self.client.methods()

    def hears_on(self) -> list[Any]:
        """The socket takes more."""
        self.client.resume_writing()
        return self.hears()

    def publish(self, queue: str, *bodies: bytes) -> None:
        for body in bodies:
            self.client.publish(queue, body)
        self.nodes.settle()

    def let_hear(self, is_so: bool) -> None:
        """Have both nodes be told by etcd what was changed, or not."""
        for node in self.nodes.nodes.values():
            node.hears = is_so


@pytest.fixture
def two() -> Two:
    return Two()


def auto_deleted(two: Two) -> None:
    """A queue "q" whose last consumer has just gone, as no view knows yet."""
    other = two.nodes["b"].lone.client()
    other.send(1, QueueDeclare("q", auto_delete=True))
    two.nodes.settle()
    two.ask(BasicConsume("q", "tag"))
    two.let_hear(False)
    assert two.ask(BasicCancel("tag")) == [BasicCancelOk("tag")]


@pytest.mark.parametrize(
    "method", [QueueDeclare("q", passive=True), BasicGet("q"), BasicConsume("q", "again")]
)
def test_who_names_a_queue_that_goes_is_answered_when_it_is_gone(two: Two, method: Method) -> None:
    auto_deleted(two)
    assert two.ask(method) == []
    two.let_hear(True)
    (closed,) = two.hears()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_text == "NOT_FOUND - no queue 'q' in vhost '/'"


def test_a_queue_that_goes_can_be_declared_again(two: Two) -> None:
    auto_deleted(two)
    assert two.ask(QueueDeclare("q", auto_delete=True)) == []
    two.client.send(1, QueueDeclare("other"))
    two.let_hear(True)
    assert two.hears() == [QueueDeclareOk("q", 0, 0), QueueDeclareOk("other", 0, 0)]
    assert not two.nodes["a"].lone.broker.vhosts["/"].queues["q"].is_elsewhere


def test_a_queue_that_goes_is_deleted_when_it_is_gone(two: Two) -> None:
    auto_deleted(two)
    assert two.ask(QueueDelete("q")) == []
    two.let_hear(True)
    assert two.hears() == [QueueDeleteOk(0)]


def test_what_a_shared_prefetch_has_no_room_for_is_ready_at_home(two: Two) -> None:
    for name in ("one", "other"):
        two.nodes.declare("b", name)
    two.ask(BasicQos(prefetch_count=3, global_=True))
    two.ask(BasicConsume("one", "one"), BasicConsume("other", "other"))
    for _ in range(5):
        two.publish("one", b"1")
        two.publish("other", b"2")
    given = [it for it in two.hears() if isinstance(it, BasicDeliver)]
    assert [it.consumer_tag for it in given] == ["one", "other", "one"]
    counts = two.ask(QueueDeclare("one", passive=True), QueueDeclare("other", passive=True))
    assert [it.message_count for it in counts] == [3, 4]
    given = two.ask(BasicAck(3, multiple=True))
    assert len(given) == 3
    assert not any(it.redelivered for it in given)


def test_a_message_that_a_full_channel_can_not_take_goes_to_another_consumer(two: Two) -> None:
    for name in ("one", "other"):
        two.nodes.declare("b", name)
    two.ask(BasicQos(prefetch_count=1, global_=True))
    two.ask(BasicConsume("one", "full"), BasicConsume("other", "of the other"))
    two.publish("other", b"0")
    (_,) = two.hears()
    two.publish("one", b"1")
    assert two.hears() == []
    (_, delivered) = two.ask(BasicConsume("one", "free"), channel=2)
    assert (delivered.consumer_tag, delivered.redelivered) == ("free", False)


@pytest.mark.parametrize(("prefetch", "no_ack"), [(0, True), (0, False), (20, False)])
def test_large_messages_come_on_and_on(two: Two, prefetch: int, no_ack: bool) -> None:
    two.nodes.declare("b", "q")
    two.ask(BasicQos(prefetch_count=prefetch), BasicConsume("q", "tag", no_ack=no_ack))
    two.publish("q", *[b"x" * (WINDOW_BYTES // 4)] * 20)
    given = two.hears()
    while heard := two.hears_on():
        given += heard
    assert len(given) == 20


def test_a_thousand_small_messages_are_on_their_way_at_once(two: Two) -> None:
    queue = two.nodes.declare("b", "q")
    two.ask(BasicQos(prefetch_count=1_000), BasicConsume("q", "tag"))
    publisher = two.nodes["b"].lone.client()
    for _ in range(1_000):
        publisher.publish("q", b"small")
    assert queue.ready == 0
    assert len(two.hears()) == 1_000


def test_a_message_is_traced_once_by_the_node_of_the_client(two: Two) -> None:
    for name in ("q", "seen"):
        two.nodes.declare("b", name)
    for node in two.nodes.nodes.values():
        node.lone.broker.vhosts["/"].describe(VHostInfo(tracing=True))
    two.ask(QueueBind("seen", TRACE_EXCHANGE, "#"))
    two.publish("q", b"got", b"consumed")
    two.ask(BasicGet("q", no_ack=True))
    two.ask(BasicConsume("q", "tag"))
    seen = two.nodes["b"].lone.broker.vhosts["/"].queues["seen"]
    routes = [content.route for content in seen.contents.values()]
    keys = [route.split(TRACE_EXCHANGE.encode())[1][1:] for route in routes]
    assert keys == [b"publish.", b"publish.", b"deliver.q", b"deliver.q"]


@pytest.mark.parametrize("home", ["a", "b"])
def test_who_deletes_a_queue_that_it_consumes_hears_the_ok_first(two: Two, home: str) -> None:
    two.nodes.declare(home, "q")
    two.ask(BasicConsume("q", "tag"))
    heard = two.ask(QueueDelete("q"))
    assert heard == [QueueDeleteOk(0), BasicCancel("tag", nowait=True)]
