"""basic.consume, cancel, get and qos: answers, errors, and who may be given how much."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, content_frames, method_frame
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
    BasicPublish,
    BasicQos,
    BasicQosOk,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ChannelOpenOk,
    ConnectionClose,
    Method,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
)
from reference_broker.core.base.limits import CONSUMERS_MAX, UNACKED_MAX
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal


def with_queue(messages: int = 0) -> LoneClient:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"))
    for number in range(messages):
        client.publish("q", b"%d" % number)
    client.received()
    return client


def delivered(client: LoneClient) -> list[tuple[str, bytes]]:
    return [
        (received.method.consumer_tag, received.body)
        for received in client.received()
        if isinstance(received.method, BasicDeliver)
    ]


def test_a_tag_is_made_where_the_client_gives_none() -> None:
    client = with_queue()
    client.send(1, BasicConsume("q"), BasicConsume("q"))
    tags = [
        method.consumer_tag for method in client.methods() if isinstance(method, BasicConsumeOk)
    ]
    assert len(set(tags)) == 2
    assert all(tag.startswith("amq.ctag-") for tag in tags)


def test_a_prefetch_of_consumers_ends_that_of_the_channel() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"), BasicQos(0, 1, True), BasicConsume("q", "t"))
    client.publish("q", b"1")
    client.publish("q", b"2")
    assert [method.NAME for method in client.methods()].count("basic.deliver") == 1
    client.send(1, BasicQos(0, 5, False))
    assert [method.NAME for method in client.methods()].count("basic.deliver") == 1


def test_a_queue_that_is_not_named_is_missed_before_the_tag_is_looked_at() -> None:
    broker = LoneBroker()
    broker.client().send(1, QueueDeclare("q"))
    client = broker.client()
    client.send(1, BasicConsume("q", "t"), BasicConsume("", "t"))
    assert [method.NAME for method in client.methods()] == ["basic.consume-ok", "channel.close"]


def test_a_tag_that_is_in_use_closes_the_connection() -> None:
    client = with_queue()
    client.send(1, BasicConsume("q", "t"), BasicConsume("q", "t"))
    text = "NOT_ALLOWED - attempt to reuse consumer tag 't'"
    assert client.methods()[-1] == ConnectionClose(530, text, 60, 20)


def test_an_empty_name_is_the_queue_that_was_declared_last() -> None:
    client = with_queue(1)
    client.send(1, BasicConsume("", "t"))
    assert delivered(client) == [("t", b"0")]


@pytest.mark.parametrize("method", [BasicConsume(""), BasicGet("")])
def test_an_empty_name_where_nothing_was_declared(method: BasicConsume | BasicGet) -> None:
    client = LoneBroker().client()
    client.send(1, method)
    text = "NOT_FOUND - no previously declared queue"
    assert client.methods() == [ChannelClose(404, text, 60, method.METHOD_ID)]


@pytest.mark.parametrize("method", [BasicConsume("nope"), BasicGet("nope")])
def test_a_queue_that_is_not_there(method: BasicConsume | BasicGet) -> None:
    client = LoneBroker().client()
    client.send(1, method)
    text = "NOT_FOUND - no queue 'nope' in vhost '/'"
    assert client.methods() == [ChannelClose(404, text, 60, method.METHOD_ID)]


def test_another_connections_exclusive_queue() -> None:
    lone = LoneBroker()
    owner, other = lone.client(), lone.client()
    owner.send(1, QueueDeclare("mine", exclusive=True))
    other.send(1, BasicConsume("mine"))
    close = other.methods()[0]
    assert isinstance(close, ChannelClose)
    assert close.reply_code == 405


def test_an_exclusive_consumer_has_the_queue_to_itself() -> None:
    client = with_queue()
    client.send(1, BasicConsume("q", "a", exclusive=True), BasicConsume("q", "b"))
    text = "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"
    assert client.methods()[-1] == ChannelClose(403, text, 60, 20)


def test_a_priority_that_is_no_number() -> None:
    client = with_queue()
    client.send(1, BasicConsume("q", "t", arguments={"x-priority": "high"}))
    text = (
        "PRECONDITION_FAILED - invalid arg 'x-priority' for queue 'q' in vhost '/':"
        ' "expected integer, got longstr"'
    )
    assert client.methods() == [ChannelClose(406, text, 60, 20)]


def test_consumers_of_a_higher_priority_come_first() -> None:
    client = with_queue()
    client.send(1, BasicQos(prefetch_count=1))
    client.send(1, BasicConsume("q", "low"), BasicConsume("q", "high", arguments={"x-priority": 5}))
    client.publish("q", b"1")
    client.publish("q", b"2")
    assert delivered(client) == [("high", b"1"), ("low", b"2")]


def test_nowait_has_no_answer() -> None:
    client = with_queue()
    client.send(1, BasicConsume("q", "t", nowait=True), BasicCancel("t", nowait=True))
    assert client.methods() == []


def test_cancel_stops_deliveries_and_leaves_what_is_unacked() -> None:
    client = with_queue(1)
    client.send(1, BasicConsume("q", "t"), BasicCancel("t"))
    client.publish("q", b"later")
    assert client.methods()[-1] == BasicCancelOk("t")
    queue = client.connection.broker.vhosts["/"].queues["q"]
    assert queue.ready + queue.unacked == 2
    client.send(1, BasicConsume("q", "t"))
    assert ("t", b"later") in delivered(client)


def test_cancel_of_an_unknown_tag_is_fine() -> None:
    client = with_queue()
    client.send(1, BasicCancel("nope"))
    assert client.methods() == [BasicCancelOk("nope")]


def test_get() -> None:
    client = with_queue(3)
    client.send(1, BasicGet("q"), BasicGet("q", no_ack=True))
    first, second = client.received()
    assert first == (1, BasicGetOk(1, False, "", "q", 2), first.header, b"0")
    assert second == (1, BasicGetOk(2, False, "", "q", 1), second.header, b"1")
    client.send(1, BasicAck(1, False), BasicGet("q", no_ack=True), BasicGet("q"))
    assert client.methods()[-1] == BasicGetEmpty()


def test_no_ack_consumers_settle_at_once() -> None:
    client = with_queue(3)
    client.send(1, BasicConsume("q", "t", no_ack=True))
    assert len(delivered(client)) == 3
    queue = client.connection.broker.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unacked, queue.acked) == (0, 0, 3)
    client.send(1, BasicAck(1, False))
    assert isinstance(client.methods()[0], ChannelClose)


# Prefetch


def test_prefetch_is_per_consumer_and_for_those_still_to_come() -> None:
    client = with_queue(9)
    client.send(1, BasicQos(prefetch_count=2), BasicConsume("q", "a"))
    client.send(1, BasicQos(prefetch_count=1), BasicConsume("q", "b"))
    got = delivered(client)
    assert [tag for tag, _ in got] == ["a", "a", "b"]
    client.send(1, BasicAck(1, False))
    assert delivered(client) == [("a", b"3")]
    client.send(1, BasicAck(3, False))
    assert delivered(client) == [("b", b"4")]


def test_a_global_prefetch_is_for_all_consumers_of_the_channel() -> None:
    client = with_queue(9)
    client.send(1, BasicQos(prefetch_count=3, global_=True))
    client.send(1, BasicConsume("q", "a"), BasicConsume("q", "b"))
    assert len(delivered(client)) == 3
    client.send(1, BasicAck(2, True))
    assert len(delivered(client)) == 2
    client.send(1, BasicQos(prefetch_count=5, global_=True))
    assert len(delivered(client)) == 2
    client.send(1, BasicQos(prefetch_count=0, global_=True))
    assert len(delivered(client)) == 2


def test_a_consumer_without_acks_waits_for_a_global_prefetch_and_adds_nothing_to_it() -> None:
    client = with_queue(1)
    client.send(1, QueueDeclare("free"), BasicQos(prefetch_count=1, global_=True))
    client.send(1, BasicConsume("q", "acks"), BasicConsume("free", "none", no_ack=True))
    client.publish("free", b"1")
    client.publish("free", b"2")
    assert delivered(client) == [("acks", b"0")]
    client.send(1, BasicAck(1, False))
    assert delivered(client) == [("none", b"1"), ("none", b"2")]


def test_room_in_a_global_prefetch_goes_to_another_queue_each_time() -> None:
    client = LoneBroker().client()
    client.send(1, BasicQos(prefetch_count=1, global_=True))
    for name in ("a", "b", "c"):
        client.send(1, QueueDeclare(name), BasicConsume(name, name))
        for _ in range(3):
            client.publish(name)
    for tag in range(1, 9):
        client.send(1, BasicAck(tag, False))
    tags = [tag for tag, _ in delivered(client)]
    assert sorted(tags) == sorted("abc" * 3)
    assert set(tags[1:4]) == {"a", "b", "c"}


@pytest.mark.parametrize("prefetch", [0, 1])
def test_what_comes_back_to_its_queue_takes_no_others_turn(prefetch: int) -> None:
    client = LoneBroker().client()
    client.send(1, BasicQos(prefetch_count=prefetch), BasicQos(prefetch_count=1, global_=True))
    for name in ("a", "b", "c"):
        client.send(1, QueueDeclare(name), BasicConsume(name, name))
        client.publish(name)
    for tag in range(1, 9):
        client.send(1, BasicNack(tag, multiple=True, requeue=True))
    tags = [tag for tag, _ in delivered(client)]
    assert sorted(tags) == sorted("abc" * 3)


def test_two_queues_that_have_their_messages_back_take_no_others_turn() -> None:
    client = LoneBroker().client()
    client.send(1, BasicQos(prefetch_count=2, global_=True))
    for name in ("a", "b", "c"):
        client.send(1, QueueDeclare(name), BasicConsume(name, name))
        client.publish(name)
    for _ in range(8):
        client.send(1, BasicNack(0, multiple=True, requeue=True))
    tags = [tag for tag, _ in delivered(client)]
    assert sorted(tags) == sorted("abc" * 6)


def test_a_publish_in_the_same_read_takes_no_others_turn() -> None:
    client = LoneBroker().client()
    client.send(1, BasicQos(prefetch_count=1, global_=True))
    for name in ("a", "b"):
        client.send(1, QueueDeclare(name), BasicConsume(name, name))
        client.publish(name)
    for tag in range(1, 5):
        again = BasicPublish("", "ab"[tag % 2 == 0])
        frames = content_frames(1, again, Properties(), b"body", FRAME_MAX)
        client.send_bytes(frames + method_frame(1, BasicAck(tag, False)))
    assert [tag for tag, _ in delivered(client)] == ["a", "b", "a", "b", "a"]


def test_what_came_before_a_cancel_is_delivered_before_it() -> None:
    client = with_queue(3)
    client.send(1, BasicQos(prefetch_count=1), BasicConsume("q", "t"))
    assert delivered(client) == [("t", b"0")]
    cancel = BasicCancel("t")
    client.send_bytes(method_frame(1, BasicAck(1, False)) + method_frame(1, cancel))
    received = client.received()
    assert received[0].body == b"1"
    assert [r.method for r in received[1:]] == [BasicCancelOk("t")]


def test_gets_do_not_count_against_a_prefetch() -> None:
    client = with_queue(4)
    client.send(1, BasicQos(prefetch_count=1, global_=True), BasicGet("q"), BasicGet("q"))
    client.received()
    client.send(1, BasicConsume("q", "t"))
    assert delivered(client) == [("t", b"2")]
    client.send(1, BasicAck(1, False))
    assert delivered(client) == []


def test_a_prefetch_in_octets_is_not_implemented() -> None:
    client = with_queue()
    client.send(1, BasicQos(prefetch_size=10))
    text = "NOT_IMPLEMENTED - prefetch_size!=0 (10)"
    assert client.methods() == [ConnectionClose(540, text, 60, 10)]


def test_a_channel_holds_a_bounded_number_of_deliveries() -> None:
    client = with_queue()
    message = content_frames(1, BasicPublish("", "q"), Properties(), b"", FRAME_MAX)
    client.send_bytes(message * (UNACKED_MAX + 5))
    client.send(1, BasicConsume("q", "t"))
    channel = client.connection.channels[1]
    while client.connection.starved:
        client.output()
        client.resume_writing()
    client.output()
    assert len(channel.unacked) == channel.outstanding == UNACKED_MAX
    client.send(1, BasicAck(2, True))
    assert len(delivered(client)) == 2
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 3
    client.send(1, BasicGet("q", no_ack=True), BasicGet("q"))
    got, close = client.methods()
    assert isinstance(got, BasicGetOk)
    text = f"PRECONDITION_FAILED - {UNACKED_MAX} deliveries are unacknowledged on this channel"
    assert close == ChannelClose(406, text, 60, 70)


def test_consumers_are_bounded() -> None:
    client = with_queue()
    client.send(1, *[BasicConsume("q", nowait=True)] * CONSUMERS_MAX)
    assert client.methods() == []
    client.send(1, BasicConsume("q"))
    text = f"NOT_ALLOWED - reached maximum ({CONSUMERS_MAX}) of consumers per channel"
    assert client.methods() == [ConnectionClose(530, text, 60, 20)]


def test_the_declared_counts() -> None:
    client = with_queue(2)
    client.send(1, BasicQos(prefetch_count=1), BasicConsume("q", "t"), QueueDeclare("q"))
    answers = client.methods()
    assert answers[0] == BasicQosOk()
    assert QueueDeclareOk("q", 1, 1) in answers


# basic.get of a message that is on disk only


class OnDisk:
    """A durable queue with three persistent messages, of which the first is in memory, and a
    channel that got it and has asked for the next one."""

    def __init__(self, *, no_ack: bool = False) -> None:
        self.journal = RecordingJournal()
        self.lone = LoneBroker(self.journal)
        self.lone.broker.window.size_bytes = 1
        self.client = self.lone.client(channels=(1, 2))
        self.other = self.lone.client()
        self.send(self.client, QueueDeclare("q", durable=True))
        for body in (b"a", b"b", b"c"):
            self.client.publish("q", body, properties=Properties(delivery_mode=2))
        self.client.send(1, BasicGet("q", no_ack=no_ack))
        assert [each.body for each in self.client.received()[1:]] == [b"a"]
        self.client.send(1, BasicGet("q", no_ack=no_ack))
        assert self.client.received() == []

    def send(self, client: LoneClient, *methods: Method) -> None:
        client.send(1, *methods)
        self.lone.sync()

    def answer(self) -> None:
        lone = self.lone
        lone.broker.fetched([self.journal.answer()], lone.now_s, lone.wall_ms)


def test_get_answers_when_the_message_has_been_read_and_later_frames_wait() -> None:
    case = OnDisk()
    case.client.send(1, BasicQos(0, 5, False), BasicGet("q"), BasicGet("q"))
    case.client.send(2, BasicQos(0, 5, False))
    assert case.client.received()[0].channel == 2, "the other channel goes on"
    case.answer()
    got = case.client.received()
    assert [(type(each.method), each.body) for each in got] == [
        (BasicGetOk, b"b"),
        (BasicQosOk, b""),
        (BasicGetOk, b"c"),
        (BasicGetEmpty, b""),
    ]
    assert case.client.connection.parked_bytes == 0


def test_get_without_acks_is_acked_when_it_was_answered() -> None:
    case = OnDisk(no_ack=True)
    assert len(case.journal.live()) == 2
    case.answer()
    assert [each.body for each in case.client.received()] == [b"b"]
    assert len(case.journal.live()) == 1


def test_get_from_a_queue_that_was_purged_meanwhile_is_empty() -> None:
    case = OnDisk()
    case.send(case.other, QueuePurge("q"))
    assert case.other.methods() == [QueuePurgeOk(2)]
    case.answer()
    assert case.client.methods() == [BasicGetEmpty()]


def test_get_from_a_queue_that_was_deleted_meanwhile_closes_the_channel() -> None:
    case = OnDisk()
    case.client.send(1, BasicQos(0, 5, False))
    case.send(case.other, QueueDelete("q"))
    assert case.other.methods() == [QueueDeleteOk(2)]
    (close,) = case.client.methods()
    assert isinstance(close, ChannelClose)
    assert (close.reply_code, close.class_id, close.method_id) == (404, 60, 70)
    case.answer()
    case.client.send(1, ChannelCloseOk(), ChannelOpen(), BasicQos(0, 5, False))
    assert case.client.methods() == [ChannelOpenOk(), BasicQosOk()]
    assert case.client.connection.parked_bytes == 0


def test_a_close_that_waits_behind_a_get_is_answered_after_it() -> None:
    case = OnDisk()
    case.client.send(1, ChannelClose(200, "", 0, 0))
    case.answer()
    assert [type(method) for method in case.client.methods()] == [BasicGetOk, ChannelCloseOk]
    queue = case.lone.broker.vhosts["/"].queues["q"]
    assert (queue.unacked, queue.ready) == (0, 3)


def test_a_client_that_has_gone_meanwhile_leaves_the_message_in_its_place() -> None:
    case = OnDisk()
    case.client.disconnect()
    case.answer()
    case.other.send(1, BasicGet("q"))
    while case.journal.fetches:
        case.answer()
    (got,) = case.other.received()
    assert (got.body, got.method.redelivered) == (b"a", True)  # type: ignore[attr-defined]


def test_two_that_wait_get_one_each_in_the_order_in_which_they_asked() -> None:
    case = OnDisk()
    case.other.send(1, BasicGet("q"))
    case.client.send(2, BasicGet("q"))
    case.answer()
    assert [(each.channel, each.body) for each in case.client.received()] == [(1, b"b"), (2, b"")]
    assert [each.body for each in case.other.received()] == [b"c"]


def test_a_message_that_is_damaged_is_left_out_and_the_next_one_got() -> None:
    case = OnDisk()
    case.journal.damaged[case.journal.fetches[0].positions[0]] = None
    case.answer()
    assert [each.body for each in case.client.received()] == [b"c"]
    assert case.lone.broker.vhosts["/"].queues["q"].lost == 1


def test_the_answer_to_the_brokers_own_cancel_is_taken() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"), BasicConsume("q", "tag"), QueueDelete("q"))
    client.received()
    client.send(1, BasicCancelOk("tag"), BasicQos())
    assert client.methods() == [BasicQosOk()]
