"""Methods that ask a queue of another node, over the wire."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

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
from reference_broker.core.queue.removal import NO_CONTENT
from reference_broker.core.remote.attachment import WINDOW_BYTES, WINDOW_MESSAGES
from reference_broker.core.remote.ports import Counts, Got, Purged, QueueGone, Settlement, Terms
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode
from reference_broker.testing.homes.scripted_nodes import ScriptedNodes, content


@pytest.fixture
def nodes() -> ScriptedNodes:
    return ScriptedNodes()


def test_consume_ok_waits_for_the_home_and_then_it_is_granted_a_window(
    nodes: ScriptedNodes,
) -> None:
    nodes.client.send(1, BasicConsume("q", "tag", arguments={"x-priority": 3}))
    ((name, queue_id, terms),) = nodes.asks()
    assert (name, queue_id) == ("attach", 7)
    assert terms == Terms("tag", False, False, b"\x0ax-priorityI\x00\x00\x00\x03")
    assert nodes.hears() == []
    nodes.lone.take(nodes.taker.attached)
    assert nodes.hears() == [BasicConsumeOk("tag")]
    assert nodes.asks() == [("grant", 1, WINDOW_MESSAGES, WINDOW_BYTES)]


def test_a_prefetch_is_what_is_granted(nodes: ScriptedNodes) -> None:
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


def test_a_grant_is_renewed_when_half_of_it_has_come(nodes: ScriptedNodes) -> None:
    nodes.consume(no_ack=True)
    nodes.asks()
    granted = []
    for number in range(1, WINDOW_MESSAGES + 1):
        nodes.deliver(number)
        granted += [asked[2] for asked in nodes.asks()]
    assert granted == [WINDOW_MESSAGES * 3 // 2, WINDOW_MESSAGES * 2]


@pytest.mark.parametrize("prefetch", [0, 50])
def test_a_grant_is_renewed_when_half_of_its_octets_have_come(
    nodes: ScriptedNodes, prefetch: int
) -> None:
    nodes.consume(prefetch)
    nodes.asks()
    size = WINDOW_BYTES // 4
    granted = []
    for number in range(1, 9):
        nodes.deliver(number, b"x" * size)
        nodes.client.output()
        granted += [asked[3] for asked in nodes.asks()]
    assert granted == [WINDOW_BYTES + part * size for part in (2, 4, 6, 8)]


def test_a_message_that_is_larger_than_the_window_is_followed_by_others(
    nodes: ScriptedNodes,
) -> None:
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
def test_a_settlement_is_told_to_the_home(
    nodes: ScriptedNodes, method: Any, how: Settlement
) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(41)
    nodes.asks()
    nodes.client.send(1, method)
    assert nodes.asks()[0] == ("settle", 7, how, (41,))
    assert nodes.queue.unacked == 0


def test_a_delivery_without_acks_is_not_settled(nodes: ScriptedNodes) -> None:
    nodes.consume(no_ack=True)
    nodes.deliver(1)
    assert [asked[0] for asked in nodes.asks()] == ["attach", "grant"]
    assert nodes.queue.unacked == 0


def test_what_comes_for_a_full_channel_goes_back_and_nothing_more_is_granted(
    nodes: ScriptedNodes,
) -> None:
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


def test_what_comes_while_nobody_reads_waits(nodes: ScriptedNodes) -> None:
    nodes.consume()
    limit = nodes.client.connection.delivery_limit
    nodes.deliver(1, b"x" * limit)
    nodes.deliver(2)
    (delivered,) = nodes.hears()
    assert delivered.delivery_tag == 1
    nodes.client.resume_writing()
    (delivered,) = nodes.hears()
    assert (delivered.delivery_tag, delivered.redelivered) == (2, False)


def test_a_refused_consumer_closes_the_channel(nodes: ScriptedNodes) -> None:
    nodes.client.send(1, BasicConsume("q", "tag"))
    refusal = ChannelException(ReplyCode.ACCESS_REFUSED, "queue 'q' in exclusive use")
    nodes.lone.take(lambda: nodes.taker.refused(refusal))
    (closed,) = nodes.hears()
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (403, 60, 20)
    assert not nodes.queue.consumers


@pytest.mark.parametrize("who", ["the client", "an operator"])
def test_a_consumer_that_is_taken_for_a_channel_that_is_gone_leaves_again(
    nodes: ScriptedNodes, who: str
) -> None:
    nodes.client.send(1, BasicConsume("q", "tag"))
    if who == "the client":
        nodes.client.disconnect()
    else:
        closing = ConnectionException(ReplyCode.CONNECTION_FORCED, "by an operator")
        nodes.lone.take(lambda: nodes.client.connection.fail(closing))
    assert [asked[0] for asked in nodes.asks()] == ["attach"]
    nodes.lone.take(nodes.taker.attached)
    assert nodes.asks() == [("detach", 1)]
    nodes.deliver(1)
    assert nodes.asks() == [("settle", 7, Settlement.UNSEEN, (1,))]
    nodes.lone.take(nodes.taker.detached)
    assert not nodes.queue.consumers


def test_cancel_ok_waits_until_what_was_on_its_way_is_here_or_back(nodes: ScriptedNodes) -> None:
    nodes.consume(prefetch=2)
    nodes.deliver(1)
    nodes.hears()
    nodes.asks()
    nodes.client.send(1, BasicCancel("tag"))
    nodes.deliver(2)
    nodes.deliver(3)
    assert nodes.hears() == [BasicDeliver("tag", 2, False, "", "q")]
    assert nodes.asks() == [("detach", 1), ("settle", 7, Settlement.UNSEEN, (3,))]
    nodes.lone.take(nodes.taker.detached)
    assert nodes.hears() == [BasicCancelOk("tag")]
    nodes.client.send(1, BasicAck(1))  # what it has got it still has
    assert nodes.asks() == [("settle", 7, Settlement.ACK, (1,))]


def test_a_connection_that_ends_gives_back_what_it_holds(nodes: ScriptedNodes) -> None:
    nodes.consume(prefetch=2)
    nodes.deliver(1, b"x" * nodes.client.connection.delivery_limit)
    nodes.deliver(2)
    nodes.asks()
    nodes.client.disconnect()
    assert nodes.asks() == [("detach", 1), ("settle", 7, Settlement.UNSEEN, (2,))]
    nodes.lone.take(nodes.taker.detached)
    assert nodes.asks() == [("settle", 7, Settlement.REQUEUE_FAILED, (1,))]
    assert not nodes.queue.consumers


def test_a_consumer_whose_home_is_lost_is_cancelled_and_its_leases_are_stale(
    nodes: ScriptedNodes,
) -> None:
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


def test_nothing_of_a_home_that_is_lost_is_handed_out_before_its_takers_know(
    nodes: ScriptedNodes,
) -> None:
    nodes.consume(prefetch=5)

    def comes_as_the_home_is_lost() -> None:
        nodes.taker.deliver(1, False, content(b"1"))
        nodes.home.era += 1

    nodes.lone.take(comes_as_the_home_is_lost)
    assert nodes.hears() == []
    assert nodes.queue.unacked == 0


def test_get_is_answered_by_the_home(nodes: ScriptedNodes) -> None:
    nodes.client.send(1, BasicGet("q"))
    assert nodes.asks() == [("get", 7, False)]
    assert nodes.hears() == []
    nodes.answer(Got(41, True, content(b"got"), 6))
    assert nodes.hears() == [BasicGetOk(1, True, "", "q", 6)]
    nodes.client.send(1, BasicAck(1))
    assert nodes.asks() == [("settle", 7, Settlement.ACK, (41,))]


def test_get_of_an_empty_queue(nodes: ScriptedNodes) -> None:
    nodes.client.send(1, BasicGet("q"))
    nodes.answer(Got(0, False, None, 0))
    assert nodes.hears() == [BasicGetEmpty()]
    assert nodes.client.connection.channels[1].got_empty == 1


def test_a_message_that_was_got_is_not_held_here(nodes: ScriptedNodes) -> None:
    nodes.client.send(1, BasicGet("q"))
    nodes.answer(Got(41, False, content(b"got"), 0))
    assert nodes.queue.leases[41].content is NO_CONTENT


@pytest.mark.parametrize(
    ("no_ack", "back"), [(False, [("settle", 7, Settlement.UNSEEN, (41,))]), (True, [])]
)
def test_what_get_brings_for_a_client_that_is_gone_goes_back_unseen(
    nodes: ScriptedNodes, no_ack: bool, back: list[Any]
) -> None:
    nodes.client.send(1, BasicGet("q", no_ack=no_ack))
    nodes.asks()
    closing = ConnectionException(ReplyCode.CONNECTION_FORCED, "by an operator")
    nodes.lone.take(lambda: nodes.client.connection.fail(closing))
    nodes.answer(Got(41, False, content(b"got"), 6))
    assert nodes.asks() == back


def test_settlements_go_before_a_question(nodes: ScriptedNodes) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(1)
    nodes.asks()
    nodes.client.send(1, BasicNack(1), BasicGet("q"))
    assert [asked[0] for asked in nodes.asks()][:2] == ["settle", "get"]


def test_a_declaration_has_the_counts_of_the_home(nodes: ScriptedNodes) -> None:
    nodes.client.send(1, QueueDeclare("q", passive=True))
    assert nodes.asks() == [("count", 7)]
    nodes.answer(Counts(5, 1, 3, 2))
    assert nodes.hears() == [QueueDeclareOk("q", 5, 2)]
    nodes.client.send(1, QueueDeclare("q", durable=True))
    nodes.answer(Counts(5, 1, 3, 2))
    assert nodes.hears() == [QueueDeclareOk("q", 5, 2)]


def test_purge(nodes: ScriptedNodes) -> None:
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
    nodes: ScriptedNodes, method: QueueDelete, counts: Counts, text: str
) -> None:
    nodes.client.send(1, method)
    nodes.answer(counts)
    (closed,) = nodes.hears()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_text == f"PRECONDITION_FAILED - queue 'q' in vhost '/' {text}"


def test_a_deletion_says_how_many_messages_there_were(nodes: ScriptedNodes) -> None:
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
def test_a_home_that_is_down_is_404(nodes: ScriptedNodes, method: Any) -> None:
    nodes.home.is_up = False
    nodes.client.send(1, method)
    (closed,) = nodes.hears()
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.class_id) == (404, method.CLASS_ID)
    assert closed.reply_text == (
        "NOT_FOUND - home node 'mqkit@b' of durable queue 'q' in vhost '/' is down or inaccessible"
    )
    nodes.client.send(1, ChannelCloseOk())


def test_who_wants_no_answer_gets_none(nodes: ScriptedNodes) -> None:
    nodes.client.send(1, BasicConsume("q", "tag", nowait=True))
    nodes.lone.take(nodes.taker.attached)
    nodes.client.send(1, BasicCancel("tag", nowait=True))
    nodes.lone.take(nodes.taker.detached)
    nodes.client.send(1, QueuePurge("q", nowait=True))
    nodes.answer(Purged(9))
    nodes.client.send(1, QueueDeclare("q", passive=True, nowait=True))
    nodes.client.send(1, QueueDelete("q", nowait=True))
    nodes.answer(Counts(5, 1, 3, 2))
    assert nodes.hears() == []
    assert "q" not in nodes.lone.broker.vhosts["/"].queues


def test_what_the_home_has_no_more_is_asked_again_when_it_is_gone_here(
    nodes: ScriptedNodes,
) -> None:
    vhost = nodes.lone.broker.vhosts["/"]
    nodes.client.send(1, BasicGet("q"))
    nodes.answer(QueueGone("gone"))
    assert [asked[0] for asked in nodes.asks()] == ["get"]
    assert nodes.hears() == []
    nodes.take(partial(vhost.delete_queue, "q"))
    (closed,) = nodes.hears()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_text == "NOT_FOUND - no queue 'q' in vhost '/'"


def test_nothing_is_asked_again_for_a_client_that_is_gone(nodes: ScriptedNodes) -> None:
    channel = nodes.client.connection.channels[1]
    nodes.client.send(1, BasicGet("q"))
    nodes.answer(QueueGone("gone"))
    nodes.client.disconnect()
    nodes.take(partial(nodes.lone.broker.vhosts["/"].delete_queue, "q"))
    assert [asked[0] for asked in nodes.asks()] == ["get"]
    assert not channel.parked
    assert not nodes.lone.broker.connections


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (QueuePurge("q"), Purged(1)),
        (QueueDeclare("q", passive=True), Counts(1, 0, 0, 0)),
        (QueueDelete("q"), Counts(1, 0, 0, 0)),
        (BasicGet("q", no_ack=True), Got(1, False, content(b"x"), 0)),
    ],
)
@pytest.mark.parametrize("durable", [True, False])
def test_an_answer_for_a_connection_that_is_closing_is_not_sent(
    method: Any, answer: Any, durable: bool
) -> None:
    nodes = ScriptedNodes(durable=durable)
    nodes.client.send(1, method)
    closing = ConnectionException(ReplyCode.CONNECTION_FORCED, "by an operator")
    nodes.lone.take(lambda: nodes.client.connection.fail(closing))
    nodes.hears()
    nodes.answer(answer)
    assert nodes.hears() == []


def test_nor_is_the_end_of_a_consumer(nodes: ScriptedNodes) -> None:
    nodes.consume()
    nodes.client.send(1, BasicCancel("tag"))
    closing = ConnectionException(ReplyCode.CONNECTION_FORCED, "by an operator")
    nodes.lone.take(lambda: nodes.client.connection.fail(closing))
    nodes.hears()
    nodes.lone.take(nodes.taker.detached)
    assert nodes.hears() == []
