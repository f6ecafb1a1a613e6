"""Channels: opening, closing, errors, and suspension while the disk is slow."""

from __future__ import annotations

import pytest

from mqkit.wire import FrameType, Properties, encode_frame, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicConsumeOk,
    BasicDeliver,
    BasicGet,
    BasicGetOk,
    BasicPublish,
    BasicQos,
    BasicQosOk,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ChannelOpenOk,
    ConnectionClose,
    ConnectionCloseOk,
    Method,
    QueueDeclare,
    QueueDeclareOk,
)
from reference_broker.core.base.limits import PARKED_BYTES_MAX
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

MISSING = QueueDeclare("missing", passive=True)


def client_of(lone: LoneBroker | None = None, **options: int) -> LoneClient:
    return (lone or LoneBroker()).client(**options)  # type: ignore[arg-type]


def closed_connection(client: LoneClient) -> tuple[int, str, int, int]:
    close = client.methods()[-1]
    assert isinstance(close, ConnectionClose)
    return close.reply_code, close.reply_text, close.class_id, close.method_id


def test_open_and_close() -> None:
    client = client_of()
    client.send(2, ChannelOpen())
    client.send(2, ChannelClose())
    assert client.received() == [(2, ChannelOpenOk(), b"", b""), (2, ChannelCloseOk(), b"", b"")]
    assert list(client.connection.channels) == [1]
    client.send(2, ChannelOpen())
    assert client.methods() == [ChannelOpenOk()]


def test_a_second_open_closes_the_connection() -> None:
    client = client_of()
    client.send(1, ChannelOpen())
    assert closed_connection(client) == (504, "CHANNEL_ERROR - second 'channel.open' seen", 20, 10)


def test_a_method_on_a_channel_that_is_not_open() -> None:
    client = client_of()
    client.send(7, BasicQos())
    assert closed_connection(client) == (504, "CHANNEL_ERROR - expected 'channel.open'", 60, 10)


def test_more_channels_than_negotiated() -> None:
    client = client_of(channel_max=2)
    client.send(2, ChannelOpen())
    client.send(9, ChannelOpen())
    code, text, *ids = closed_connection(client)
    assert (code, ids) == (530, [0, 0])
    assert text.endswith("number of channels opened (2) has reached the negotiated channel_max (2)")


def test_an_error_closes_the_channel_and_only_that() -> None:
    client = LoneBroker().client(channels=(1, 2))
    client.send(1, MISSING)
    assert client.methods() == [
        ChannelClose(404, "NOT_FOUND - no queue 'missing' in vhost '/'", 50, 10)
    ]
    client.send(2, BasicQos())
    assert client.methods() == [BasicQosOk()]


def test_after_an_error_everything_is_ignored_until_close_ok() -> None:
    client = client_of()
    client.send(1, MISSING, BasicQos(), QueueDeclare("q"))
    client.publish("q")
    client.send_bytes(method_frame(1, BasicPublish("", "q")))
    client.received()
    assert client.connection.broker.vhosts["/"].queues == {}
    client.send(1, ChannelCloseOk(), ChannelOpen(), QueueDeclare("q"))
    assert client.methods() == [ChannelOpenOk(), QueueDeclareOk("q", 0, 0)]


def test_both_sides_close_a_channel_at_once() -> None:
    client = client_of()
    client.send(1, MISSING, ChannelClose())
    assert [method.NAME for method in client.methods()] == ["channel.close", "channel.close-ok"]
    client.send(1, ChannelCloseOk(), ChannelOpen())
    assert client.methods() == [ChannelOpenOk()]


def test_a_number_is_not_free_before_close_ok() -> None:
    client = client_of()
    client.send(1, MISSING, ChannelOpen())
    assert closed_connection(client)[0] == 504


@pytest.mark.parametrize("method", [ChannelCloseOk(), QueueDeclareOk("q", 0, 0), BasicGetOk()])
def test_a_method_that_only_a_broker_sends(method: Method) -> None:
    client = client_of()
    client.send(1, method)
    code, text, class_id, method_id = closed_connection(client)
    assert (code, text) == (503, "COMMAND_INVALID - unimplemented method")
    assert (class_id, method_id) == (method.CLASS_ID, method.METHOD_ID)


def test_a_channel_gives_back_what_it_holds_in_the_original_order() -> None:
    lone = LoneBroker()
    client = client_of(lone)
    client.send(1, QueueDeclare("q"))
    for number in range(4):
        client.publish("q", b"%d" % number)
    client.send(1, BasicGet("q"), BasicGet("q"), BasicConsume("q", "tag"))
    assert client.received()[-1].body == b"3"
    client.send(1, BasicAck(2, False))
    client.send(1, ChannelClose())
    other = client_of(lone)
    other.send(1, *[BasicGet("q")] * 3)
    got = other.received()
    assert [message.body for message in got] == [b"0", b"2", b"3"]
    assert all(isinstance(m.method, BasicGetOk) and m.method.redelivered for m in got)


def test_a_lost_connection_gives_everything_back_too() -> None:
    lone = LoneBroker()
    client = client_of(lone)
    client.send(1, QueueDeclare("q"), BasicConsume("q", "tag"))
    client.publish("q")
    other = client_of(lone)
    other.send(1, BasicConsume("q", "other"))
    client.disconnect()
    deliver = other.methods()[-1]
    assert isinstance(deliver, BasicDeliver)
    assert deliver.redelivered
    assert lone.broker.vhosts["/"].queues["q"].consumers != []


# Suspension


def suspended() -> tuple[LoneBroker, LoneClient]:
    lone = LoneBroker(RecordingJournal())
    client = lone.client(channels=(1, 2))
    client.send(1, QueueDeclare("d", durable=True))
    assert client.connection.channels[1].state is ChannelState.SUSPENDED
    return lone, client


def test_later_frames_of_a_suspended_channel_wait_in_order_and_other_channels_do_not() -> None:
    lone, client = suspended()
    client.send(1, QueueDeclare("q"), BasicConsume("d", "tag"))
    client.publish("d", b"parked")
    client.send(2, BasicQos())
    assert [(r.channel, r.method) for r in client.received()] == [(2, BasicQosOk())]
    lone.sync()
    received = client.received()
    assert [r.method.NAME for r in received] == [
        "queue.declare-ok",
        "queue.declare-ok",
        "basic.consume-ok",
        "basic.deliver",
    ]
    assert received[-1].body == b"parked"
    assert client.connection.parked_bytes == 0


def test_a_parked_frame_may_suspend_the_channel_again() -> None:
    lone, client = suspended()
    client.send(1, QueueDeclare("e", durable=True), BasicQos())
    lone.sync()
    assert client.methods() == [QueueDeclareOk("d", 0, 0)]
    lone.sync()
    assert client.methods() == [QueueDeclareOk("e", 0, 0), BasicQosOk()]


def test_a_parked_close_and_a_parked_open_of_the_same_number() -> None:
    lone, client = suspended()
    client.send(1, ChannelClose(), ChannelOpen(), QueueDeclare("e", durable=True), BasicQos())
    lone.sync()
    assert client.methods() == [QueueDeclareOk("d", 0, 0), ChannelCloseOk(), ChannelOpenOk()]
    lone.sync()
    assert client.methods() == [QueueDeclareOk("e", 0, 0), BasicQosOk()]


def test_a_parked_frame_may_be_the_one_that_is_wrong() -> None:
    lone, client = suspended()
    client.send(1, MISSING, BasicQos())
    lone.sync()
    assert [method.NAME for method in client.methods()] == ["queue.declare-ok", "channel.close"]


def test_a_connection_that_ends_while_suspended() -> None:
    lone, client = suspended()
    client.send(1, BasicQos())
    client.disconnect()
    lone.sync()
    assert client.connection.parked_bytes == 0
    assert client.output() == b""


def test_reading_stops_when_too_much_is_parked() -> None:
    lone, client = suspended()
    client.publish("d", b"x" * 100_000)
    assert client.connection.wants_reading
    for _ in range(PARKED_BYTES_MAX // 100_000):
        client.publish("d", b"x" * 100_000)
    assert not client.connection.wants_reading
    lone.sync()
    assert client.connection.wants_reading
    assert lone.broker.vhosts["/"].queues["d"].ready == PARKED_BYTES_MAX // 100_000 + 1


def test_parked_frames_count_even_when_they_are_empty() -> None:
    _, client = suspended()
    empty = encode_frame(FrameType.BODY, 1, b"")
    for _ in range(200):
        client.send_bytes(empty * 100)
    assert not client.connection.wants_reading
    client.disconnect()
    assert client.connection.parked_bytes == 0


def test_a_persistent_publish_behind_a_nowait_declare_is_confirmed_after_both() -> None:
    lone = LoneBroker(RecordingJournal())
    client = lone.client()
    client.select_confirms()
    client.send(1, QueueDeclare("d", durable=True, nowait=True))
    client.publish("d", properties=Properties(delivery_mode=2))
    assert client.methods() == []
    lone.sync()
    assert client.methods() == [BasicAck(1, False)]


def test_closing_the_connection_while_suspended() -> None:
    lone, client = suspended()
    client.send(0, ConnectionClose(200, "bye", 0, 0))
    assert client.methods() == [ConnectionCloseOk()]
    lone.sync()
    assert client.methods() == []


def test_consume_ok_comes_before_the_first_delivery() -> None:
    client = client_of()
    client.send(1, QueueDeclare("q"))
    client.publish("q")
    client.received()
    client.send(1, BasicConsume("q", "tag"))
    first, second = client.methods()
    assert first == BasicConsumeOk("tag")
    assert second == BasicDeliver("tag", 1, False, "", "q")
