"""The native connection over bytes: its life, and a broker that breaks the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit.errors import Closed, ConnectionLost, ConnectionRefused, MqkitError, Unreachable
from mqkit.message import Message, Properties
from mqkit.transport.heartbeat import SILENT_TICKS_MAX
from mqkit.transport.native.states import ConnectionState
from mqkit.wire import (
    HEARTBEAT_FRAME,
    decode_method,
    encode_frame,
    encode_method,
    method_frame,
    methods,
)

ANSWER = Callable[[], Any]
START = methods.ConnectionStart()
GARBAGE = b"HTTP/1.1 400 Bad Request\r\n\r\n"


def test_the_handshake(starting: Any) -> None:
    starting.says(START)
    [start_ok] = starting.written()
    assert start_ok.response == b"\0ann\0s3cret"
    starting.says(methods.ConnectionTune(100, 8192, 10))
    assert starting.written() == [
        methods.ConnectionTuneOk(100, 8192, 10),
        methods.ConnectionOpen("flights"),
    ]
    assert not starting.opened.done()
    starting.says(methods.ConnectionOpenOk())
    assert starting.opened.done()
    assert starting.connection.is_open
    assert (starting.connection.frame_max, starting.connection.tick_s) == (8192, 2.5)


def test_a_refused_login_is_the_brokers_word(starting: Any) -> None:
    starting.says(START)
    starting.written()
    starting.says(methods.ConnectionClose(403, "ACCESS_REFUSED - login refused"))
    assert starting.written() == [methods.ConnectionCloseOk()]
    assert isinstance(starting.opened.error, ConnectionRefused)
    assert starting.opened.error.reply_code == 403
    assert starting.connection.is_closed


def test_a_broker_without_a_login_of_ours_is_refused(starting: Any) -> None:
    starting.says(methods.ConnectionStart(mechanisms=b"EXTERNAL"))
    assert isinstance(starting.opened.error, ConnectionRefused)
    assert starting.written() == []


@pytest.mark.parametrize("end", [b"", b"\r\n" * 100], ids=["as it is", "longer"])
def test_whoever_speaks_another_language_is_no_broker(starting: Any, end: bytes) -> None:
    starting.connection.receive(GARBAGE[:5])
    starting.connection.receive(GARBAGE[5:] + end)
    starting.connection.lost(None)
    assert isinstance(starting.opened.error, Unreachable)
    assert "does not speak AMQP" in str(starting.opened.error)


def test_a_broker_that_goes_while_opening_is_unreachable(starting: Any) -> None:
    starting.says(START)
    starting.connection.lost(ConnectionResetError(104, "Connection reset by peer"))
    assert isinstance(starting.opened.error, Unreachable)
    assert "Connection reset by peer" in str(starting.opened.error)


def test_frames_may_be_cut_anywhere(starting: Any, answer: ANSWER) -> None:
    sent = [START, methods.ConnectionTune(0, 0, 60), methods.ConnectionOpenOk()]
    for octet in b"".join(method_frame(0, method) for method in sent) + HEARTBEAT_FRAME:
        starting.connection.receive(bytes((octet,)))
    assert starting.connection.is_open


ACK = encode_method(methods.BasicAck(1))


def _overlong(kind: int, channel: int) -> bytes:
    return encode_frame(kind, channel, bytes(131_073))  # type: ignore[arg-type]


BREACHES = {
    "frame end": method_frame(0, methods.ConnectionBlocked("x"))[:-1] + b"\x00",
    "too large a frame": _overlong(3, 1),
    "not open": method_frame(9, methods.BasicAck(1)),
    "content on channel 0": encode_frame(2, 0, b""),  # type: ignore[arg-type]
    "no such type": encode_frame(7, 1, b""),  # type: ignore[arg-type]
    "no such method": encode_frame(1, 0, b"\x00\x0a\x00\xff"),  # type: ignore[arg-type]
    "a client's method": method_frame(0, methods.ConnectionOpen()),
    "out of turn": method_frame(0, START),
    "answers nothing": method_frame(1, methods.QueuePurgeOk(1)),
    "a body by itself": encode_frame(3, 1, b"x"),  # type: ignore[arg-type]
    "an empty get that nobody asked for": method_frame(1, methods.BasicGetEmpty()),
    "a client's method on a channel": method_frame(1, methods.BasicQos()),
    "an ack cut short": encode_frame(1, 1, ACK[:-1]),  # type: ignore[arg-type]
    "an ack with more behind it": encode_frame(1, 1, ACK + b"\x00"),  # type: ignore[arg-type]
    "an ack in the middle of a content": method_frame(1, methods.BasicDeliver("t", 1, False))
    + encode_frame(1, 1, ACK),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("octets", BREACHES.values(), ids=BREACHES)
def test_a_breach_of_the_protocol_ends_the_connection_and_says_why(
    played: Any, octets: bytes
) -> None:
    channel = played.channel()
    closed: list[MqkitError | None] = []
    played.connection.on_closed(closed.append)
    played.connection.receive(octets)
    [close] = played.written()
    assert isinstance(close, methods.ConnectionClose)
    assert close.reply_code in range(501, 507)
    [error] = closed
    assert isinstance(error, ConnectionLost)
    assert "broke the protocol" in str(error)
    assert isinstance(channel.error, ConnectionLost)
    played.connection.receive(octets)  # whatever comes after it is thrown away
    assert played.connection.is_closed


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 254, 255])
@pytest.mark.parametrize("method", [methods.BasicAck, methods.BasicNack])
def test_an_ack_that_is_read_by_hand_says_what_its_codec_says(
    played: Any, method: type[methods.BasicAck] | type[methods.BasicNack], bits: int
) -> None:
    payload = encode_method(method(2))[:-1] + bytes((bits,))
    read = decode_method(payload)
    assert isinstance(read, method)
    channel = played.channel(confirms=True)
    told: list[tuple[int, list[bool]]] = []
    published = [Message("x", "k", b"", Properties(message_id=each)) for each in "abc"]
    for start in range(3):
        channel.publish(
            published,
            lambda at, each: told.append((at, list(map(bool, each)))),
            start=start,
            octets_max=1,
        )
    played.connection.receive(encode_frame(1, 1, payload))  # type: ignore[arg-type]
    good = method is methods.BasicAck
    assert told == ([(0, [good]), (1, [good])] if read.multiple else [(1, [good])])


def test_an_ack_on_a_channel_that_closes_is_not_heard(played: Any) -> None:
    channel = played.channel(confirms=True)
    told: list[bool] = []
    message = Message("x", "k", b"", Properties(message_id="a"))
    channel.publish([message], lambda _, each: told.extend(map(bool, each)), octets_max=1)
    channel.close()
    played.says(methods.BasicAck(1), channel=1)
    assert told == []
    played.says(methods.ChannelCloseOk(), channel=1)
    assert told == [False]


def test_a_turns_output_is_announced_once(played: Any, answer: ANSWER) -> None:
    channel = played.channel()
    before = played.wakes
    for _ in range(5):
        channel.call(methods.QueuePurge("q"), answer())
    assert played.wakes == before + 1
    assert len(played.written()) == 5
    assert played.connection.take_output() == []


def test_blocked_is_told_to_who_listens_now_and_to_who_comes_later(played: Any) -> None:
    heard: list[str | None] = []
    played.connection.on_blocked(heard.append)
    played.says(methods.ConnectionBlocked("low on memory"))
    late: list[str | None] = []
    played.connection.on_blocked(late.append)
    played.says(methods.ConnectionUnblocked())
    assert heard == ["low on memory", None]
    assert late == ["low on memory", None]


def test_a_callback_that_raises_ends_nothing(played: Any, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str | None] = []

    def fails(_: str | None) -> None:
        raise ValueError("a user's mistake")

    played.connection.on_blocked(fails)
    played.connection.on_blocked(heard.append)
    played.says(methods.ConnectionBlocked("low on disk"))
    assert heard == ["low on disk"]
    assert "a user's mistake" in caplog.text


def test_heartbeats(played: Any) -> None:
    played.connection.take_output()
    for _ in range(2):
        played.connection.tick()
        assert played.connection.take_output() == []  # something was written before
    played.connection.tick()
    assert played.connection.take_output() == [HEARTBEAT_FRAME]
    for _ in range(3):
        played.connection.receive(HEARTBEAT_FRAME)
        played.connection.tick()
    for _ in range(SILENT_TICKS_MAX):
        assert played.connection.is_open
        played.connection.tick()
    assert isinstance(played.connection.error, ConnectionLost)
    assert "heartbeat" in str(played.connection.error)


def test_who_does_not_read_misses_no_heartbeat(played: Any) -> None:
    for _ in range(10 * SILENT_TICKS_MAX):
        played.connection.tick(is_reading=False)
    assert played.connection.is_open
    for _ in range(SILENT_TICKS_MAX):
        assert played.connection.is_open
        played.connection.tick()
    assert not played.connection.is_open


def test_closing_waits_for_the_answer_and_hears_nothing_else(played: Any, answer: ANSWER) -> None:
    channel = played.channel()
    deliveries: list[Any] = []
    channel.on_closed(deliveries.append)
    first, second = answer(), answer()
    reasons: list[MqkitError | None] = []
    played.connection.on_closed(reasons.append)
    played.connection.close(first)
    assert played.written() == [methods.ConnectionClose(200)]
    played.connection.close(second)
    assert played.connection.state is ConnectionState.CLOSING
    played.says(methods.QueuePurgeOk(1), channel=1)
    with pytest.raises(Closed):
        played.connection.open_channel(confirms=False, promise=answer())
    played.says(methods.ConnectionCloseOk())
    assert first.done()
    assert second.done()
    assert reasons == [None]
    assert deliveries == [None]
    late = answer()
    played.connection.close(late)
    assert late.done()


def test_two_closes_that_cross_are_no_error(played: Any, answer: ANSWER) -> None:
    promise = answer()
    reasons: list[MqkitError | None] = []
    played.connection.on_closed(reasons.append)
    played.connection.close(promise)
    played.written()
    played.says(methods.ConnectionClose(320, "CONNECTION_FORCED"))
    assert played.written() == [methods.ConnectionCloseOk()]
    assert promise.done()
    assert reasons == [None]


def test_a_broker_that_closes_says_why_to_all(played: Any, answer: ANSWER) -> None:
    channel, waiting = played.channel(), answer()
    reasons: list[MqkitError | None] = []
    channel.call(methods.QueuePurge("q"), waiting)
    channel.on_closed(reasons.append)
    played.says(methods.ConnectionClose(320, "CONNECTION_FORCED - shutdown"))
    assert isinstance(played.connection.error, ConnectionRefused)
    assert isinstance(waiting.error, ConnectionLost)
    assert "320 CONNECTION_FORCED" in str(waiting.error)
    assert reasons == [waiting.error]


def test_channel_numbers_run_out_and_come_back(starting: Any, answer: ANSWER) -> None:
    starting.says(START, methods.ConnectionTune(2, 0, 0), methods.ConnectionOpenOk())
    first, second = starting.channel(), starting.channel()
    with pytest.raises(Closed, match="all 2 channels"):
        starting.connection.open_channel(confirms=False, promise=answer())
    first.close()
    with pytest.raises(Closed):  # the broker has not answered yet
        starting.connection.open_channel(confirms=False, promise=answer())
    starting.says(methods.ChannelCloseOk(), channel=first.number)
    assert starting.channel().number == first.number
    assert second.is_open
