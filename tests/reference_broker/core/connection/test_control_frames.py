"""Frames that are not the hot path: the channel they are for, and the state it is in."""

from __future__ import annotations

import pytest

from mqkit.wire import HEARTBEAT_FRAME, FrameType, encode_frame, encode_method, method_frame
from mqkit.wire.methods import (
    BasicGet,
    BasicQos,
    BasicQosOk,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ChannelOpenOk,
    ConnectionClose,
    ConnectionCloseOk,
    QueueDeclare,
    QueueDeclareOk,
)
from reference_broker.core.base.limits import REPLY_OUTPUT_BYTES_MAX
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.core.connection.control_frames import method_ids
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

MISSING = QueueDeclare("missing", passive=True)
HEADER = b"\x00\x3c\x00\x00" + bytes(10)


def refusal(client: LoneClient) -> tuple[int, str, int, int]:
    close = client.methods()[-1]
    assert isinstance(close, ConnectionClose)
    return close.reply_code, close.reply_text, close.class_id, close.method_id


@pytest.mark.parametrize(
    ("kind", "payload", "ids"),
    [
        (FrameType.METHOD, encode_method(BasicQos()), (60, 10)),
        (FrameType.METHOD, b"\x00\x3c\x00", (0, 0)),
        (FrameType.HEADER, HEADER, (0, 0)),
    ],
)
def test_only_a_method_frame_has_ids(kind: int, payload: bytes, ids: tuple[int, int]) -> None:
    assert method_ids(kind, payload) == ids


def test_a_heartbeat_is_for_channel_0() -> None:
    client = LoneBroker().client()
    client.send_bytes(HEARTBEAT_FRAME)
    assert client.methods() == []
    client.send_bytes(encode_frame(FrameType.HEARTBEAT, 1, b""))
    assert refusal(client)[0] == 505


def test_content_has_no_place_on_channel_0() -> None:
    client = LoneBroker().client()
    client.send_bytes(encode_frame(FrameType.HEADER, 0, HEADER))
    assert refusal(client)[0] == 505


@pytest.mark.parametrize("number", [1, 2])
def test_content_without_a_method_is_refused_whether_the_channel_is_open(number: int) -> None:
    client = LoneBroker().client(channels=(1,))
    client.send_bytes(encode_frame(FrameType.BODY, number, b"x"))
    text = "UNEXPECTED_FRAME - expected method frame, got non method frame instead"
    assert refusal(client) == (505, text, 0, 0)


def test_a_channel_is_opened_by_channel_open_and_by_nothing_else() -> None:
    client = LoneBroker().client(channels=())
    client.send(9, ChannelOpen())
    assert client.methods() == [ChannelOpenOk()]
    assert client.connection.channels[9].state is ChannelState.OPEN
    client.send(8, BasicQos())
    assert refusal(client) == (504, "CHANNEL_ERROR - expected 'channel.open'", 60, 10)


def test_a_suspended_channel_keeps_its_frames() -> None:
    lone = LoneBroker(RecordingJournal())
    client = lone.client()
    client.send(1, QueueDeclare("d", durable=True), BasicQos())
    assert client.methods() == []
    assert [kind for kind, _ in client.connection.channels[1].parked] == [FrameType.METHOD]
    lone.sync()
    assert client.methods() == [QueueDeclareOk("d", 0, 0), BasicQosOk()]


def test_a_request_waits_while_too_many_answers_do() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"))
    client.publish("q", bytes(REPLY_OUTPUT_BYTES_MAX))
    client.send(1, BasicGet("q"), BasicQos())
    channel = client.connection.channels[1]
    assert channel.state is ChannelState.SUSPENDED
    assert len(channel.parked) == 1
    assert [method.NAME for method in client.methods()] == ["queue.declare-ok", "basic.get-ok"]
    client.resume_writing()
    assert client.methods() == [BasicQosOk()]


def test_a_failed_channel_answers_a_close_and_is_freed_by_close_ok_only() -> None:
    client = LoneBroker().client()
    client.send(1, MISSING)
    client.received()
    client.send(1, BasicQos(), ChannelClose())
    assert client.methods() == [ChannelCloseOk()]
    assert list(client.connection.channels) == [1]
    client.send(1, ChannelCloseOk())
    assert list(client.connection.channels) == []


def test_a_failed_channel_can_not_be_opened_before_close_ok() -> None:
    client = LoneBroker().client()
    client.send(1, MISSING, ChannelOpen())
    assert refusal(client) == (504, "CHANNEL_ERROR - second 'channel.open' seen", 20, 10)


def test_the_number_of_a_channel_that_its_client_closed_is_free_at_once() -> None:
    client = LoneBroker().client()
    client.send(1, ChannelClose())
    assert list(client.connection.channels) == []


def test_after_connection_close_only_its_answer_counts() -> None:
    client = LoneBroker().client(channels=(1,))
    client.send(99, BasicQos())
    assert refusal(client)[0] == 504
    client.send_bytes(method_frame(1, BasicQos()) + b"\x09\x00\x00\x00\x00\x00\x01x\xce")
    assert client.connection.state is ConnectionState.CLOSING
    client.send(1, ConnectionCloseOk())
    assert client.connection.state is ConnectionState.CLOSING
    client.send(0, ConnectionCloseOk())
    assert client.connection.closed
    assert client.output() == b""


def test_who_has_closed_may_close_again_until_the_socket_goes() -> None:
    client = LoneBroker().client()
    client.send(0, ConnectionClose())
    client.send(0, ConnectionClose())
    assert client.methods() == [ConnectionCloseOk(), ConnectionCloseOk()]
    assert client.connection.state is ConnectionState.LEAVING
