"""The end of channels: stopped at once, and given back in portions."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicConsumeOk,
    BasicDeliver,
    BasicGet,
    BasicNack,
    BasicPublish,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ConnectionClose,
    ConnectionCloseOk,
    Method,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    TxSelect,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.errors import ReplyCode
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

COUNT = 400
UNITS = 50
MESSAGES = 20


class Rig:
    """A client that holds the messages of two queues on each of two channels."""

    def __init__(self) -> None:
        self.lone = LoneBroker()
        self.client = self.lone.client(channels=(1, 2))
        self.client.send(1, QueueDeclare("a"), QueueDeclare("b"))
        for number in range(COUNT):
            self.client.publish("a", b"%d" % number)
            self.client.publish("b", b"%d" % number)
        for channel in (1, 2):
            for name in ("a", "b"):
                self.client.send(channel, *[BasicGet(name)] * (COUNT // 2))
        self.client.received()
        self.queues = list(self.lone.broker.vhosts["/"].queues.values())
        assert [queue.unacked for queue in self.queues] == [COUNT] * 2
        self.channels: list[Channel] = list(self.client.connection.channels.values())
        self.lone.broker.budget.units = UNITS
        self.lone.turn()

    def end(self) -> None:
        self.client.connection.receive_eof(self.lone.now_s, self.lone.wall_ms)


def test_all_queues_wait_before_any_has_something_back() -> None:
    rig = Rig()
    rig.end()
    while not any(queue.ready for queue in rig.queues):
        rig.lone.turn()
    partly = 0
    while any(queue.returning for queue in rig.queues):
        assert all(queue.returning for queue in rig.queues), "one begins with the others"
        partly += any(0 < queue.ready < COUNT for queue in rig.queues)
        rig.lone.turn()
    assert partly > 5
    assert [queue.ready for queue in rig.queues] == [COUNT] * 2


def test_the_order_is_as_it_was() -> None:
    rig = Rig()
    rig.end()
    rig.lone.complete()
    for queue in rig.queues:
        bodies = [int(queue.contents[key].body) for key in sorted(queue.contents)]
        assert bodies == list(range(COUNT))
        assert queue.unacked == 0


def test_a_channel_is_freed_when_it_has_given_all_back_and_not_before() -> None:
    rig = Rig()
    rig.end()
    assert not any(channel.is_released for channel in rig.channels)
    rig.lone.complete()
    assert all(channel.is_released for channel in rig.channels)


def test_a_stopped_channel_gets_nothing_more() -> None:
    rig = Rig()
    other = rig.lone.client()
    rig.client.send(1, BasicConsume("a", "c"))
    rig.client.received()
    rig.client.feed(method_frame(1, ChannelClose()))
    other.feed(method_frame(1, BasicConsume("a", "c")))
    rig.lone.complete()

    assert [type(each) for each in rig.client.methods()] == [ChannelCloseOk]
    deliveries = [each for each in received_by(other) if isinstance(each, BasicDeliver)]
    assert len(deliveries) == COUNT // 2, "what the other channel holds it holds"


def received_by(client: LoneClient) -> list[object]:
    got: list[object] = []
    while methods := client.methods():
        got += methods
        client.resume_writing()
    return got


def test_a_request_that_is_under_way_is_done_first() -> None:
    rig = Rig()
    rig.client.feed(method_frame(1, BasicNack(0, True, False)))
    assert rig.client.connection.is_busy
    rig.client.connection.drop("gone")
    rig.lone.complete()

    assert [queue.rejected for queue in rig.queues] == [COUNT // 2] * 2, "all of channel 1"
    assert [queue.ready for queue in rig.queues] == [COUNT // 2] * 2, "and all of channel 2 is back"
    assert [queue.returning for queue in rig.queues] == [0, 0]


def test_what_a_transaction_had_settled_comes_back_too() -> None:
    rig = Rig()
    rig.client.send(1, TxSelect(), BasicAck(0, True))
    rig.end()
    rig.lone.complete()
    assert [queue.ready for queue in rig.queues] == [COUNT] * 2


def test_a_queue_that_is_deleted_meanwhile_is_passed_over() -> None:
    rig = Rig()
    rig.end()
    while not any(queue.ready for queue in rig.queues):
        rig.lone.turn()
    vhost = rig.lone.broker.vhosts["/"]
    rig.lone.broker.begin(rig.lone.now_s, rig.lone.wall_ms)
    vhost.work.start(vhost.delete_everything(), "/")
    rig.lone.broker.finish()
    rig.lone.complete()

    assert vhost.queues == {}
    assert all(channel.is_released for channel in rig.channels)
    assert [(queue.ready, queue.unacked) for queue in rig.queues] == [(0, 0)] * 2


@pytest.mark.parametrize(
    "first", [(BasicAck(MESSAGES + 1),), (ChannelClose(200),), (TxSelect(), BasicAck(0, True))]
)
@pytest.mark.parametrize("units", [1, 7])
def test_a_channel_and_its_connection_may_end_one_within_the_other(
    first: tuple[Method, ...], units: int
) -> None:
    """Both give back what the channel holds; after that the exclusive queues go."""
    lone = LoneBroker(units=units)
    client = lone.client()
    client.send(1, QueueDeclare("q"), QueueDeclare("mine", exclusive=True))
    for name in ("q", "mine"):
        for _ in range(MESSAGES // 2):
            client.publish(name)
            client.send(1, BasicGet(name))
    client.received()
    frames = [method_frame(1, method) for method in first]
    client.send_bytes(b"".join([*frames, method_frame(0, ConnectionClose(200))]))
    assert ConnectionCloseOk() in client.methods()
    vhost = lone.broker.vhosts["/"]
    assert list(vhost.queues) == ["q"]
    assert (vhost.queues["q"].ready, vhost.queues["q"].unacked) == (MESSAGES // 2, 0)


@pytest.mark.parametrize("units", [1, 7, UNLIMITED_UNITS])
def test_what_is_overdue_in_an_exclusive_queue_is_dead_before_the_queue_goes(units: int) -> None:
    lone = LoneBroker(units=units)
    client = lone.client()
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    arguments = {"x-message-ttl": 1_000, **dead}
    client.send(1, QueueDeclare("dead"), QueueDeclare("q", exclusive=True, arguments=arguments))
    for _ in range(MESSAGES):
        client.publish("q")
        client.send(1, BasicGet("q"))
    lone.pass_time(2)
    client.send(0, ConnectionClose(200))
    queues = lone.broker.vhosts["/"].queues
    assert {name: queue.ready for name, queue in queues.items()} == {"dead": MESSAGES}


class Leaving:
    """A client whose consumers are leaving the queues "q" and "auto", of which it has many, and one
    that comes after it. A turn is too short for all."""

    def __init__(self, channel_alone: bool, **consume: Any) -> None:
        self.lone = LoneBroker()
        self.client = self.lone.client(channels=(1, 2))
        self.other = self.lone.client()
        self.client.send(1, QueueDeclare("q"), QueueDeclare("auto", auto_delete=True))
        tags = [f"c{number}" for number in range(COUNT)]
        if consume.pop("exclusive", False):
            self.client.send(1, *[BasicConsume("auto", f"b{tag}") for tag in tags])
            self.client.send(1, BasicConsume("q", "one", exclusive=True))
        else:
            self.client.send(1, *[BasicConsume("q", tag, **consume) for tag in tags])
        self.client.send(1, *[BasicConsume("auto", f"a{tag}", **consume) for tag in tags])
        self.client.received()
        self.vhost = self.lone.broker.vhosts["/"]
        self.q = self.vhost.queues["q"]
        self.lone.broker.budget.units = 1
        self.lone.turn()
        if channel_alone:
            self.client.feed(method_frame(1, ChannelClose()))
        else:
            self.client.connection.receive_eof(self.lone.now_s, self.lone.wall_ms)
        assert self.q.consumers, "they are not all gone in one turn"

    def ask(self, *asked: Method) -> list[Method]:
        """The answers to what another client asks before the consumers have left."""
        for method in asked:
            self.other.feed(method_frame(1, method))
        self.lone.complete()
        assert not any(each.leaving for each in self.q.consumers)
        return self.other.methods()


@pytest.mark.parametrize("no_ack", [False, True])
@pytest.mark.parametrize("channel_alone", [False, True])
def test_consumers_that_are_leaving_get_nothing(channel_alone: bool, no_ack: bool) -> None:
    rig = Leaving(channel_alone, no_ack=no_ack)
    turns = 0
    while rig.q.consumers:
        rig.other.feed(method_frame(1, BasicConsume("q", f"c{turns}", no_ack=True)))
        rig.other.feed(content_frames(1, BasicPublish("", "q"), Properties(), b"x", 8192))
        rig.lone.turn()
        turns += 1
        if turns == 20:
            break
    rig.lone.complete()
    delivered = [each for each in rig.other.methods() if isinstance(each, BasicDeliver)]
    assert len(delivered) == turns > 5
    told = [type(each) for each in rig.client.methods()]
    assert told == ([ChannelCloseOk] if channel_alone else [])


@pytest.mark.parametrize("channel_alone", [False, True])
def test_who_asks_for_consumers_is_answered_as_if_those_that_leave_were_gone(
    channel_alone: bool,
) -> None:
    rig = Leaving(channel_alone)
    assert rig.ask(QueueDeclare("q", passive=True)) == [QueueDeclareOk("q", 0, 0)]
    rig = Leaving(channel_alone)
    assert rig.ask(BasicConsume("q", "mine", exclusive=True)) == [BasicConsumeOk("mine")]
    rig = Leaving(channel_alone)
    assert rig.ask(QueueDelete("q", if_unused=True)) == [QueueDeleteOk(0)]
    rig = Leaving(channel_alone, exclusive=True)
    assert rig.ask(BasicConsume("q", "mine")) == [BasicConsumeOk("mine")]


@pytest.mark.parametrize("nowait", [False, True])
@pytest.mark.parametrize("channel_alone", [False, True])
def test_an_auto_delete_queue_that_they_leave_is_gone_for_who_names_it(
    channel_alone: bool, nowait: bool
) -> None:
    before = Leaving(channel_alone)
    old = before.vhost.queues["auto"]
    declare = QueueDeclare("auto", auto_delete=True, nowait=nowait)
    before.ask(declare, BasicConsume("auto", "mine"))
    assert old.deleted
    assert before.vhost.queues["auto"] is not old
    assert len(before.vhost.queues["auto"].consumers) == 1

    (close,) = Leaving(channel_alone).ask(BasicConsume("auto", "mine"))
    assert isinstance(close, ChannelClose)
    assert close.reply_code == 404


@pytest.mark.parametrize("channel_alone", [False, True])
def test_a_queue_that_is_deleted_meanwhile_tells_no_consumer_that_is_leaving(
    channel_alone: bool,
) -> None:
    rig = Leaving(channel_alone)
    assert rig.ask(QueueDelete("q")) == [QueueDeleteOk(0)]
    told = [type(each) for each in rig.client.methods()]
    assert told == ([ChannelCloseOk] if channel_alone else [])


def test_the_next_single_active_consumer_comes_when_the_last_one_has_left() -> None:
    lone = LoneBroker()
    client, other = lone.client(), lone.client()
    arguments = {"x-single-active-consumer": True}
    client.send(1, QueueDeclare("other"), QueueDeclare("q", arguments=arguments))
    client.send(1, *[BasicConsume("other", f"c{number}") for number in range(MESSAGES)])
    client.send(1, BasicConsume("q", "first"))
    other.send(1, BasicConsume("q", "second"))
    lone.broker.budget.units = 1
    lone.turn()
    client.connection.receive_eof(lone.now_s, lone.wall_ms)
    rotation = lone.broker.vhosts["/"].queues["q"].rotation
    assert rotation.active is not None
    assert rotation.active.tag == "first"
    other.publish("q")
    assert rotation.active.tag == "second"
    assert [each.body for each in other.received() if each.body] == [b"body"]


def test_an_exclusive_queue_is_nobodys_from_the_end_of_its_connection_on() -> None:
    """Also while what its channels hold is still to go back."""
    lone = LoneBroker()
    client, other = lone.client(), lone.client()
    client.send(1, QueueDeclare("mine", exclusive=True), QueueDeclare("q"))
    for _ in range(MESSAGES):
        client.publish("q")
        client.send(1, BasicGet("q"))
    lone.broker.budget.units = 1
    lone.turn()
    client.connection.receive_eof(lone.now_s, lone.wall_ms)
    other.send(1, QueueDeclare("mine", durable=True))
    assert other.methods() == [QueueDeclareOk("mine", 0, 0)]


@pytest.mark.parametrize("units", [1, UNLIMITED_UNITS])
def test_all_exclusive_queues_of_a_connection_go_with_it(units: int) -> None:
    lone = LoneBroker()
    client, other = lone.client(), lone.client()
    names = ("one", "two", "three")
    for name in names:
        client.send(1, QueueDeclare(name, exclusive=True))
        client.publish(name)
    other.send(1, QueueDeclare("two", passive=True))
    (closed,) = other.methods()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_code == ReplyCode.RESOURCE_LOCKED
    other.send(1, ChannelCloseOk(), ChannelOpen())
    other.received()
    lone.broker.budget.units = units
    client.disconnect()
    lone.complete()
    assert not lone.broker.vhosts["/"].queues
    for name in names:
        other.send(1, QueueDeclare(name))
        lone.complete()
        assert other.methods() == [QueueDeclareOk(name, 0, 0)]


def test_targets_that_a_channel_remembers_are_let_go_in_portions() -> None:
    lone = LoneBroker()
    client = lone.client(channels=range(1, 21))
    for channel in range(1, 21):
        for key in range(64):
            client.publish(f"k{key}", channel=channel)
    held = lone.broker.targets.held_bytes
    lone.broker.budget.units = 10
    lone.turn()
    client.connection.receive_eof(lone.now_s, lone.wall_ms)
    assert lone.broker.targets.held_bytes > held // 2
    assert lone.complete() > 5
    assert lone.broker.targets.held_bytes == 0
