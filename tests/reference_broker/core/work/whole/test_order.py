"""The order within a queue, and what a name means, while a part of the work is still to be done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicNack,
    BasicPublish,
    BasicQos,
    BasicRecover,
    BasicReturn,
    ChannelClose,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueueUnbind,
    QueueUnbindOk,
    TxRollback,
    TxSelect,
)
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_broker import FRAME_MAX, LoneClient
from reference_broker.testing.two_tenants import TwoTenants

Action: TypeAlias = Callable[[], object]

HELD = 1_500
BEHIND = 100
UNITS = 50


def methods(*all_methods: Method, channel: int = 1) -> bytes:
    return b"".join(method_frame(channel, method) for method in all_methods)


def publishes(numbers: range, *, mandatory: bool = False) -> bytes:
    method = BasicPublish("", "q", mandatory)
    return b"".join(
        content_frames(1, method, Properties(), b"%d" % number, FRAME_MAX) for number in numbers
    )


def bodies(client: LoneClient) -> list[int]:
    """The deliveries since the last look."""
    got = []
    while received := client.received():
        got += [int(each.body) for each in received if isinstance(each.method, BasicDeliver)]
        client.resume_writing()
    return got


@pytest.fixture
def tenants() -> TwoTenants:
    """``busy`` holds 1,500 messages on two channels by turns, and 100 more are ready."""
    tenants = TwoTenants()
    busy = tenants.busy = tenants.lone.client(channels=(1, 2))
    busy.send(1, QueueDeclare("q"))
    for channel in (1, 2):
        busy.send(channel, BasicQos(0, HELD // 2, False), BasicConsume("q", "c"))
    busy.send_bytes(publishes(range(HELD)))
    assert bodies(busy) == list(range(HELD))
    for channel in (1, 2):
        busy.send(channel, BasicCancel("c"))
    busy.send_bytes(publishes(range(HELD, HELD + BEHIND)))
    return tenants


def queue_of(tenants: TwoTenants) -> Queue:
    return tenants.lone.broker.vhosts["/"].queues["q"]


def close(tenants: TwoTenants) -> Action:
    return partial(tenants.busy.connection.receive_eof, tenants.lone.now_s, tenants.lone.wall_ms)


def feed(*data: bytes) -> Callable[[TwoTenants], Action]:
    return lambda tenants: partial(tenants.busy.feed, b"".join(data))


@pytest.mark.parametrize(
    "end",
    [
        close,
        feed(methods(ChannelClose()), methods(ChannelClose(), channel=2)),
        feed(methods(BasicNack(0, True, True)), methods(BasicNack(0, True, True), channel=2)),
        feed(methods(BasicRecover(True)), methods(BasicRecover(True), channel=2)),
    ],
    ids=["connection", "channels", "nack", "recover"],
)
def test_nothing_is_handed_out_before_all_is_back(
    tenants: TwoTenants, end: Callable[[TwoTenants], Action]
) -> None:
    other = tenants.lone.client()
    queue = queue_of(tenants)
    tenants.bound(UNITS)
    end(tenants)()
    while not queue.returning:
        tenants.turn()

    other.feed(methods(BasicConsume("q", "c", no_ack=True)))
    partly = 0
    while queue.returning:
        assert bodies_so_far(other) == []
        partly += BEHIND < queue.ready < HELD + BEHIND
        tenants.turn()
    while not tenants.turn():
        pass

    assert partly > 5, "it comes back in portions"
    assert sorted(first := bodies(other)) == list(range(HELD + BEHIND))
    if end is close:
        assert first == list(range(HELD + BEHIND))


def bodies_so_far(client: LoneClient) -> list[int]:
    return [int(each.body) for each in client.received() if isinstance(each.method, BasicDeliver)]


def test_a_requeue_of_one_channel_is_in_order_with_what_is_behind_it(tenants: TwoTenants) -> None:
    tenants.busy.send(2, BasicAck(0, True))
    other = tenants.lone.client()
    queue = queue_of(tenants)
    held = [int(lease.content.body) for lease in queue.leases.values()]
    tenants.bound(UNITS)
    tenants.busy.feed(methods(BasicNack(0, True, True)))
    while not queue.returning:
        tenants.turn()
    other.feed(methods(BasicConsume("q", "c", no_ack=True)))
    tenants.play(bool)

    assert bodies(other) == sorted(held) + list(range(HELD, HELD + BEHIND))


@pytest.mark.parametrize("rolls_back", [True, False])
def test_what_a_transaction_held_back_comes_back_in_order(rolls_back: bool) -> None:
    tenants = TwoTenants()
    tenants.busy.send(1, QueueDeclare("q"), TxSelect())
    tenants.lone.client().send_bytes(publishes(range(HELD)))
    tenants.busy.send(1, BasicConsume("q", "c"))
    bodies(tenants.busy)
    tenants.busy.send(1, BasicCancel("c"))
    for tag in (HELD, HELD // 2, 1):
        tenants.busy.send(1, BasicAck(tag))
    tenants.bound(UNITS)
    other = tenants.lone.client()
    if rolls_back:
        tenants.busy.feed(methods(TxRollback()))
        tenants.play(bool)
        assert list(tenants.busy.connection.channels[1].unacked) == list(range(1, HELD + 1))
    close(tenants)()
    other.feed(methods(BasicConsume("q", "c", no_ack=True)))
    tenants.play(bool)

    assert bodies(other) == list(range(HELD))


@pytest.mark.parametrize("method", [BasicAck(0, True), BasicNack(0, True, False)])
def test_what_is_delivered_meanwhile_is_not_in_the_range(method: Method) -> None:
    tenants = TwoTenants()
    count = 4_000
    tenants.busy.send(1, QueueDeclare("q"), BasicConsume("q", "c"))
    tenants.busy.send_bytes(publishes(range(count)))
    assert len(bodies(tenants.busy)) == count
    other = tenants.lone.client()
    tenants.bound(UNITS)
    channel = tenants.busy.connection.channels[1]
    tenants.busy.feed(methods(method))
    assert tenants.busy.connection.is_busy, "it takes more than this turn"

    other.feed(publishes(range(count, count + 5)))
    meanwhile: list[int] = []
    while tenants.busy.connection.is_busy:
        tenants.turn()
        meanwhile += bodies_so_far(tenants.busy) if tenants.busy.connection.is_busy else []

    assert meanwhile, "who works for one channel does not stop its consumers"
    tenants.play(bool)
    assert list(channel.unacked) == list(range(count + 1, count + 6))
    assert [int(lease.content.body) for lease in channel.unacked.values()] == [
        *range(count, count + 5)
    ]


# What is just being deleted


@pytest.fixture
def deleting() -> TwoTenants:
    """A queue and an exchange with 500 bindings each, of which the queue is just being deleted, and
    then the exchange is."""
    tenants = TwoTenants()
    tenants.busy.send(1, QueueDeclare("q"), ExchangeDeclare("x"), ExchangeDeclare("y"))
    tenants.busy.send(1, *[QueueBind("q", "x", f"{number}") for number in range(500)])
    tenants.busy.send_bytes(publishes(range(10)))
    tenants.busy = tenants.lone.client()
    return tenants


def asked_while_it_goes(tenants: TwoTenants, data: bytes) -> tuple[list[Method], int]:
    """What a client is told that asks while the queue is being deleted, and the turns until
    then."""
    other = tenants.lone.client()
    tenants.bound(UNITS)
    tenants.busy.feed(methods(QueueDelete("q")))
    other.feed(data)
    turns = 0
    while not (told := other.methods()):
        tenants.turn()
        turns += 1
    tenants.play(bool)
    assert QueueDeleteOk(10) in tenants.busy.methods()
    return told, turns


def test_a_declaration_waits_until_the_last_binding_is_gone(deleting: TwoTenants) -> None:
    told, turns = asked_while_it_goes(deleting, methods(QueueDeclare("q")))

    assert told == [QueueDeclareOk("q", 0, 0)]
    assert turns > 5
    assert [each.source for each in deleting.lone.broker.vhosts["/"].bindings()] == [""]


@pytest.mark.parametrize(
    "method",
    [
        QueueDeclare("q", passive=True),
        QueueBind("q", "y"),
        BasicConsume("q"),
        BasicGet("q"),
    ],
)
def test_everything_else_meets_it_gone(deleting: TwoTenants, method: Method) -> None:
    told, _ = asked_while_it_goes(deleting, methods(method))

    (closed,) = told
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (
        404,
        method.CLASS_ID,
        method.METHOD_ID,
    )


def test_a_publish_meets_it_gone(deleting: TwoTenants) -> None:
    told, _ = asked_while_it_goes(deleting, publishes(range(1), mandatory=True))

    assert [type(each) for each in told] == [BasicReturn]


# Exclusive queues of a connection that has ended


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (QueueDeclare("q299"), QueueDeclareOk),
        (QueueDelete("q299"), QueueDeleteOk),
        (QueueDeclare("q299", passive=True), ChannelClose),
        (BasicConsume("q299"), ChannelClose),
        (BasicGet("q299"), ChannelClose),
        (QueueBind("q299", "amq.direct"), ChannelClose),
        (QueueUnbind("q299", "amq.direct", "k"), QueueUnbindOk),
    ],
)
def test_an_exclusive_queue_of_an_ended_connection_is_waited_for(
    method: Method, answer: type[Method]
) -> None:
    tenants = TwoTenants()
    for number in range(300):
        tenants.busy.send(1, QueueDeclare(f"q{number}", exclusive=True))
    tenants.busy.send(1, QueueBind("q299", "amq.direct", "k"))
    other = tenants.lone.client()
    tenants.bound(UNITS)
    close(tenants)()
    assert "q299" in tenants.lone.broker.vhosts["/"].queues
    other.feed(methods(method))
    turns = 0
    while not (told := other.methods()):
        tenants.turn()
        turns += 1

    assert turns > 5
    (got,) = told
    assert type(got) is answer
    if isinstance(got, ChannelClose):
        assert got.reply_code == 404, "and not 405: it is nobody's any more"
    there = tenants.lone.broker.vhosts["/"].queues
    assert [each.owner for each in there.values()] == [None] * isinstance(got, QueueDeclareOk)


def test_a_binding_to_a_queue_that_is_declared_again_is_a_new_one(deleting: TwoTenants) -> None:
    data = methods(QueueDeclare("q"), QueueBind("q", "x", "7"))
    told, _ = asked_while_it_goes(deleting, data)
    vhost = deleting.lone.broker.vhosts["/"]

    assert told[0] == QueueDeclareOk("q", 0, 0)
    assert len(vhost.bindings_from("x")) == 1
