"""Methods that ask a queue of another node, over the wire."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, encode_header, encode_shortstr
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
    ChannelCloseOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
)
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.message.content import Content
from reference_broker.core.remote.attachment import WINDOW_BYTES, WINDOW_MESSAGES
from reference_broker.core.remote.ports import Answer, Counts, Got, Purged, Settlement, Terms
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

ROUTE = encode_shortstr("") + encode_shortstr("q")


class Nodes:
    """A node with one client, and the home of its queue "q"."""

    def __init__(self) -> None:
        self.lone = LoneBroker()
        self.home = ScriptedHome()
        vhost = self.lone.broker.vhosts["/"]
        vhost.enter_queue(QueueDefinition(7, "q", False, {}), self.home)
        self.queue = vhost.queues["q"]
        self.client: LoneClient = self.lone.client()

    def asks(self) -> list[tuple[Any, ...]]:
        self.lone.complete()
        return self.home.take_asked()

    def hears(self) -> list[Any]:
        self.lone.complete()
        return self.client.methods()

    def consume(self, prefetch: int = 0, *, no_ack: bool = False) -> None:
        """Have the client consume, as "tag"."""
        if prefetch:
            self.client.send(1, BasicQos(prefetch_count=prefetch))
        self.client.send(1, BasicConsume("q", "tag", no_ack=no_ack))
        self.lone.take(self.home.takers[1].attached)
        self.client.received()

    def deliver(self, number: int, body: bytes = b"x", *, redelivered: bool = False) -> None:
        message = content(body)
        self.lone.take(lambda: self.home.takers[1].deliver(number, redelivered, message))

    def answer(self, answer: Answer) -> None:
        self.lone.take(lambda: self.home.answer(answer))


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


def content(body: bytes) -> Content:
    return Content(ROUTE, encode_header(len(body), Properties()), body)


def test_consume_ok_waits_for_the_home_and_then_it_is_granted_a_window(nodes: Nodes) -> None:
    nodes.client.send(1, BasicConsume("q", "tag", arguments={"x-priority": 3}))
    ((name, queue_id, terms),) = nodes.asks()
    assert (name, queue_id) == ("attach", 7)
    assert terms == Terms("tag", False, False, b"\x0ax-priorityI\x00\x00\x00\x03")
    assert nodes.hears() == []
    nodes.lone.take(nodes.home.takers[1].attached)
    assert nodes.hears() == [BasicConsumeOk("tag")]
    assert nodes.asks() == [("grant", 1, WINDOW_MESSAGES, WINDOW_BYTES)]


def test_a_prefetch_is_what_is_granted(nodes: Nodes) -> None:
    nodes.consume(prefetch=3)
    assert nodes.asks()[-1] == ("grant", 1, 3, WINDOW_BYTES)
    for number in (1, 2, 3):
        nodes.deliver(number)
    assert nodes.hears() == [BasicDeliver("tag", tag, False, "", "q") for tag in (1, 2, 3)]
    assert nodes.asks() == []
    nodes.client.send(1, BasicAck(2, multiple=True))
    assert nodes.asks() == [
        ("settle", 7, Settlement.ACK, (1, 2)),
        ("grant", 1, 5, WINDOW_BYTES + 3),
    ]


def test_a_grant_is_renewed_when_half_of_it_has_come(nodes: Nodes) -> None:
    nodes.consume(no_ack=True)
    nodes.asks()
    granted = []
    for number in range(1, WINDOW_MESSAGES + 1):
        nodes.deliver(number)
        granted += [asked[2] for asked in nodes.asks()]
    assert granted == [WINDOW_MESSAGES * 3 // 2, WINDOW_MESSAGES * 2]


def test_a_grant_is_renewed_when_half_of_its_octets_have_come(nodes: Nodes) -> None:
    nodes.consume()
    assert nodes.asks()[-1] == ("grant", 1, WINDOW_MESSAGES, WINDOW_BYTES)
    parts, granted = 8, []
    for number in range(1, 2 * parts + 1):
        nodes.deliver(number, b"x" * (WINDOW_BYTES // parts))
        assert len(nodes.hears()) == 1
        granted += [asked[3] for asked in nodes.asks()]
    assert granted == [
        WINDOW_BYTES * 3 // 2,
        WINDOW_BYTES * 2,
        WINDOW_BYTES * 5 // 2,
        3 * WINDOW_BYTES,
    ]


def test_a_message_that_is_larger_than_the_window_is_followed_by_others(nodes: Nodes) -> None:
    nodes.consume(prefetch=2)
    nodes.asks()
    nodes.deliver(1, b"x" * 3 * WINDOW_BYTES)
    assert nodes.asks() == [("grant", 1, 2, 4 * WINDOW_BYTES)]


@pytest.mark.parametrize(
    ("method", "how"),
    [
        (BasicAck(1), Settlement.ACK),
        (BasicReject(1, requeue=False), Settlement.REJECT),
        (BasicReject(1, requeue=True), Settlement.REQUEUE_FAILED),
        (BasicNack(1, requeue=True), Settlement.REQUEUE_FAILED),
    ],
)
def test_a_settlement_is_told_to_the_home(nodes: Nodes, method: Any, how: Settlement) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(41)
    nodes.asks()
    nodes.client.send(1, method)
    assert nodes.asks()[0] == ("settle", 7, how, (41,))
    assert nodes.queue.unacked == 0


def test_a_delivery_without_acks_is_not_settled(nodes: Nodes) -> None:
    nodes.consume(no_ack=True)
    nodes.deliver(1)
    assert [asked[0] for asked in nodes.asks()] == ["attach", "grant"]
    assert nodes.queue.unacked == 0


def test_what_comes_for_a_full_channel_goes_back_and_nothing_more_is_granted(nodes: Nodes) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(1)
    nodes.asks()
    nodes.deliver(2)  # another queue may have used up what the home was granted
    assert nodes.asks() == [
        ("grant", 1, 2, WINDOW_BYTES + 2),
        ("settle", 7, Settlement.UNSEEN, (2,)),
    ]
    nodes.client.send(1, BasicAck(1))
    assert nodes.asks() == [
        ("settle", 7, Settlement.ACK, (1,)),
        ("grant", 1, 3, WINDOW_BYTES + 2),
    ]
    nodes.deliver(3)
    assert [delivered.delivery_tag for delivered in nodes.hears()] == [1, 2]


def test_what_comes_while_nobody_reads_waits(nodes: Nodes) -> None:
    nodes.consume()
    limit = nodes.client.connection.delivery_limit
    nodes.deliver(1, b"x" * limit)
    nodes.deliver(2)
    (delivered,) = nodes.hears()
    assert delivered.delivery_tag == 1
    nodes.client.resume_writing()
    (delivered,) = nodes.hears()
    assert (delivered.delivery_tag, delivered.redelivered) == (2, False)


def test_a_refused_consumer_closes_the_channel(nodes: Nodes) -> None:
    nodes.client.send(1, BasicConsume("q", "tag"))
    refusal = ChannelException(ReplyCode.ACCESS_REFUSED, "queue 'q' in exclusive use")
    nodes.lone.take(lambda: nodes.home.takers[1].refused(refusal))
    (closed,) = nodes.hears()
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (403, 60, 20)
    assert not nodes.queue.consumers


def test_cancel_ok_waits_until_what_was_on_its_way_is_here_or_back(nodes: Nodes) -> None:
    nodes.consume(prefetch=2)
    nodes.deliver(1)
    nodes.hears()
    nodes.asks()
    nodes.client.send(1, BasicCancel("tag"))
    nodes.deliver(2)
    nodes.deliver(3)
    assert nodes.hears() == [BasicDeliver("tag", 2, False, "", "q")]
    assert nodes.asks() == [("detach", 1), ("settle", 7, Settlement.UNSEEN, (3,))]
    nodes.lone.take(nodes.home.takers[1].detached)
    assert nodes.hears() == [BasicCancelOk("tag")]
    nodes.client.send(1, BasicAck(1))  # what it has got it still has
    assert nodes.asks() == [("settle", 7, Settlement.ACK, (1,))]


def test_a_connection_that_ends_gives_back_what_it_holds(nodes: Nodes) -> None:
    nodes.consume(prefetch=2)
    nodes.deliver(1, b"x" * nodes.client.connection.delivery_limit)
    nodes.deliver(2)
    nodes.asks()
    nodes.client.disconnect()
    assert nodes.asks() == [("detach", 1), ("settle", 7, Settlement.UNSEEN, (2,))]
    nodes.lone.take(nodes.home.takers[1].detached)
    assert nodes.asks() == [("settle", 7, Settlement.REQUEUE_FAILED, (1,))]
    assert not nodes.queue.consumers


def test_a_consumer_whose_home_is_lost_is_cancelled_and_its_leases_are_stale(nodes: Nodes) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(1)
    nodes.asks()
    nodes.hears()
    nodes.lone.take(nodes.home.lose)
    assert nodes.hears() == [BasicCancel("tag", nowait=True)]
    nodes.client.send(1, BasicAck(1))
    nodes.home.is_up = True
    assert nodes.asks() == []
    assert nodes.hears() == []


def test_nothing_of_a_home_that_is_lost_is_handed_out_before_its_takers_know(nodes: Nodes) -> None:
    nodes.consume(prefetch=5)

    def comes_as_the_home_is_lost() -> None:
        nodes.home.takers[1].deliver(1, False, content(b"1"))
        nodes.home.era += 1

    nodes.lone.take(comes_as_the_home_is_lost)
    assert nodes.hears() == []
    assert nodes.queue.unacked == 0


def test_get_is_answered_by_the_home(nodes: Nodes) -> None:
    nodes.client.send(1, BasicGet("q"))
    assert nodes.asks() == [("get", 7, False)]
    assert nodes.hears() == []
    nodes.answer(Got(41, True, content(b"got"), 6))
    assert nodes.hears() == [BasicGetOk(1, True, "", "q", 6)]
    nodes.client.send(1, BasicAck(1))
    assert nodes.asks() == [("settle", 7, Settlement.ACK, (41,))]


def test_get_of_an_empty_queue(nodes: Nodes) -> None:
    nodes.client.send(1, BasicGet("q"))
    nodes.answer(Got(0, False, None, 0))
    assert nodes.hears() == [BasicGetEmpty()]


def test_what_get_brings_for_a_client_that_is_gone_goes_back_unseen(nodes: Nodes) -> None:
    nodes.client.send(1, BasicGet("q"))
    nodes.asks()
    closing = ConnectionException(ReplyCode.CONNECTION_FORCED, "by an operator")
    nodes.lone.take(lambda: nodes.client.connection.fail(closing))
    nodes.answer(Got(41, False, content(b"got"), 6))
    assert nodes.asks() == [("settle", 7, Settlement.UNSEEN, (41,))]


def test_settlements_go_before_a_question(nodes: Nodes) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(1)
    nodes.asks()
    nodes.client.send(1, BasicNack(1), BasicGet("q"))
    assert [asked[0] for asked in nodes.asks()][:2] == ["settle", "get"]


def test_a_declaration_has_the_counts_of_the_home(nodes: Nodes) -> None:
    nodes.client.send(1, QueueDeclare("q", passive=True))
    assert nodes.asks() == [("count", 7)]
    nodes.answer(Counts(5, 1, 3, 2))
    assert nodes.hears() == [QueueDeclareOk("q", 5, 2)]
    nodes.client.send(1, QueueDeclare("q", durable=True))
    nodes.answer(Counts(5, 1, 3, 2))
    assert nodes.hears() == [QueueDeclareOk("q", 5, 2)]


def test_purge(nodes: Nodes) -> None:
    nodes.client.send(1, QueuePurge("q"))
    nodes.answer(Purged(9))
    assert nodes.hears() == [QueuePurgeOk(9)]


@pytest.mark.parametrize(
    ("method", "counts", "text"),
    [
        (QueueDelete("q", if_empty=True), Counts(1, 0, 0, 0), "not empty"),
        (QueueDelete("q", if_unused=True), Counts(0, 0, 1, 1), "in use"),
    ],
)
def test_the_conditions_of_a_deletion_are_the_homes(
    nodes: Nodes, method: QueueDelete, counts: Counts, text: str
) -> None:
    nodes.client.send(1, method)
    nodes.answer(counts)
    (closed,) = nodes.hears()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_text == f"PRECONDITION_FAILED - queue 'q' in vhost '/' {text}"


def test_a_deletion_says_how_many_messages_there_were(nodes: Nodes) -> None:
    nodes.client.send(1, QueueDelete("q"))
    nodes.answer(Counts(5, 1, 3, 2))
    assert nodes.hears() == [QueueDeleteOk(5)]
    assert "q" not in nodes.lone.broker.vhosts["/"].queues


@pytest.mark.parametrize(
    "method",
    [
        BasicConsume("q", "tag"),
        BasicGet("q"),
        QueueDeclare("q", passive=True),
        QueuePurge("q"),
        QueueDelete("q"),
    ],
)
def test_a_home_that_is_down_is_404(nodes: Nodes, method: Any) -> None:
    nodes.home.is_up = False
    nodes.client.send(1, method)
    (closed,) = nodes.hears()
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.class_id) == (404, method.CLASS_ID)
    assert closed.reply_text == (
        "NOT_FOUND - home node 'mqkit@b' of durable queue 'q' in vhost '/' is down or inaccessible"
    )
    nodes.client.send(1, ChannelCloseOk())
