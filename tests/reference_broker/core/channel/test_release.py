"""The end of channels: stopped at once, and given back in portions."""

from __future__ import annotations

import pytest

from mqkit.wire import method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicNack,
    ChannelClose,
    ChannelCloseOk,
    ConnectionClose,
    ConnectionCloseOk,
    Method,
    QueueDeclare,
    TxSelect,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.core.work.budget import UNLIMITED_UNITS
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
