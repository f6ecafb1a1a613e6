"""Connections: bad frames, closing from either side, and every bound on bytes."""

from __future__ import annotations

import struct

import pytest

from mqkit.wire import encode_frame, method_frame
from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    BasicGet,
    BasicNack,
    BasicPublish,
    BasicQos,
    BasicQosOk,
    ConnectionClose,
    ConnectionCloseOk,
    ConnectionOpen,
    QueueDeclare,
    QueueDelete,
)
from mqkit.wire.spec import FrameType
from reference_broker.core.base.limits import (
    CLOSE_OK_S,
    DELIVERY_OUTPUT_BYTES_MAX,
    LEAVING_S,
    REPLY_OUTPUT_BYTES_MAX,
    Limits,
)
from reference_broker.core.broker import TooManyConnections
from reference_broker.core.connection.connection import Connection
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

METHOD = FrameType.METHOD


def close_of(client: LoneClient) -> ConnectionClose:
    close = client.methods()[-1]
    assert isinstance(close, ConnectionClose)
    return close


def raw(kind: int, channel: int, payload: bytes, end: int = 0xCE) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + bytes((end,))


@pytest.mark.parametrize(
    ("data", "code", "text"),
    [
        (raw(7, 1, b"abc"), 501, "unknown_frame"),
        (raw(7, 0, b"abc"), 501, "unknown_frame"),
        (raw(8, 0, b"abc"), 501, "unknown_frame"),
        (raw(8, 1, b""), 505, "type 8"),
        (raw(2, 0, b"x" * 14), 505, "type 2"),
        (raw(3, 0, b"abc"), 505, "type 3"),
        (raw(1, 1, b"\x00\x3c\x00\x0a\x00\x00\x00\x00\x00\x00\x00", end=0), 501, "end_marker"),
        (struct.pack(">BHI", 1, 1, 200_000), 501, "frame_too_large,200000"),
        (raw(1, 1, b"\x00\x01"), 501, "type 1, all octets = <<0,1>>: unknown_frame"),
        (raw(1, 1, struct.pack(">HH", 60, 20)), 501, "cannot decode <<>>"),
        (raw(1, 1, struct.pack(">HH", 99, 1)), 503, "unknown method"),
        (
            raw(1, 1, struct.pack(">HHH", 50, 10, 0) + b"\x00\x00" + b"\x00\x00\x00\x01"),
            501,
            "cannot decode",
        ),
        (raw(1, 1, struct.pack(">HHHBB", 50, 10, 0, 1, 255) + bytes(5)), 501, "Malformed UTF-8"),
        (raw(2, 1, b"x" * 14), 505, "expected method frame"),
        (raw(3, 1, b"abc"), 505, "expected method frame"),
        (method_frame(1, ConnectionOpen("/")), 503, "unimplemented method"),
        (method_frame(0, QueueDeclare("q")), 504, "unexpected method in connection state running"),
        (method_frame(0, ConnectionOpen("/")), 504, "connection state running"),
    ],
)
def test_what_is_wrong_closes_the_connection(data: bytes, code: int, text: str) -> None:
    lone = LoneBroker()
    client, other = lone.client(), lone.client()
    client.send_bytes(data)
    close = close_of(client)
    assert close.reply_code == code
    assert text in close.reply_text
    other.send(1, BasicQos())
    assert other.methods() == [BasicQosOk()]


def test_after_a_framing_error_nothing_is_read_any_more() -> None:
    client = LoneBroker().client()
    client.send_bytes(raw(1, 1, b"\x00\x01", end=0))
    assert close_of(client).reply_code == 501
    client.send(0, ConnectionCloseOk())
    assert client.connection.state is ConnectionState.CLOSING
    client.disconnect()
    assert client.connection.closed


def test_after_its_close_the_broker_ignores_everything_but_the_answer() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"))
    client.send(1, ConnectionOpen("/"), QueueDeclare("r"))
    client.send(1, QueueDeclare("s"))
    client.send(0, QueueDeclare("t"))
    assert close_of(client).reply_code == 503
    assert list(client.connection.broker.vhosts["/"].queues) == ["q"]
    client.send(0, ConnectionCloseOk())
    assert client.connection.closed
    assert client.output() == b""


def test_both_sides_close_at_once() -> None:
    client = LoneBroker().client()
    client.send(1, ConnectionOpen("/"))
    client.send(0, ConnectionClose(200, "bye", 0, 0))
    assert [method.NAME for method in client.methods()] == [
        "connection.close",
        "connection.close-ok",
    ]
    client.send(0, ConnectionCloseOk())
    assert client.connection.closed


def test_a_client_that_never_answers_the_close_is_dropped() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, ConnectionOpen("/"))
    lone.pass_time(CLOSE_OK_S + 0.1)
    assert client.connection.closed
    assert lone.broker.connections == {}


def test_the_client_closes() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("mine", exclusive=True), QueueDeclare("ours"))
    client.received()
    client.send(0, ConnectionClose(200, "bye", 0, 0))
    assert client.methods() == [ConnectionCloseOk()]
    assert list(lone.broker.vhosts["/"].queues) == ["ours"]
    assert not client.connection.closed
    client.disconnect()
    assert client.connection.closed
    client.disconnect()
    assert lone.broker.connections == {}


def test_whoever_has_closed_may_say_more_until_it_closes_its_socket() -> None:
    client = LoneBroker().client()
    client.send(0, ConnectionClose(200, "bye", 0, 0))
    client.send(1, QueueDeclare("late"))
    client.send(0, ConnectionClose(200, "bye", 0, 0))
    assert client.methods() == [ConnectionCloseOk(), ConnectionCloseOk()]
    assert not client.connection.broker.vhosts["/"].queues
    client.send_bytes(raw(1, 1, b"\x00\x01", end=0))
    assert client.connection.closed
    assert client.output() == b""


@pytest.mark.parametrize(("heartbeat_s", "patience_s"), [(0, LEAVING_S), (60, LEAVING_S), (5, 5)])
def test_a_client_that_never_closes_its_socket_is_dropped(
    heartbeat_s: int, patience_s: float
) -> None:
    lone = LoneBroker()
    client = lone.client(heartbeat_s=heartbeat_s)
    client.send(0, ConnectionClose(200, "bye", 0, 0))
    client.received()
    lone.pass_time(patience_s - 0.1)
    assert not client.connection.closed
    lone.pass_time(0.2)
    assert client.connection.closed
    assert client.heartbeats == 0
    assert lone.broker.connections == {}


def test_a_broker_that_stops_does_not_wait_for_who_has_closed() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(0, ConnectionClose(200, "bye", 0, 0))
    client.received()
    lone.broker.close("shutdown", lone.now_s, lone.wall_ms)
    assert client.connection.closed
    assert client.output() == b""


def test_a_broker_that_stops_tells_everybody() -> None:
    lone = LoneBroker()
    clients = [lone.client(), lone.client()]
    lone.broker.close("shutdown", lone.now_s, lone.wall_ms)
    for client in clients:
        close = close_of(client)
        assert close.reply_code == 320
        assert close.reply_text == (
            "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'"
        )


@pytest.mark.parametrize("said", [b"", b"AMQP"])
def test_a_broker_that_stops_drops_whoever_has_not_said_hello(said: bytes) -> None:
    lone = LoneBroker()
    silent, client = lone.socket(), lone.client()
    silent.send_bytes(said)
    lone.broker.close("shutdown", lone.now_s, lone.wall_ms)
    assert silent.connection.closed
    assert silent.output() == b""
    assert close_of(client).reply_code == 320


# Bounds on what waits to be sent


def filled(lone: LoneBroker, count: int, size: int) -> None:
    publisher = lone.client()
    publisher.send(1, QueueDeclare("q"))
    for _ in range(count):
        publisher.publish("q", b"x" * size)


def test_a_consumer_whose_socket_is_slow_gets_no_more_than_the_bound() -> None:
    lone = LoneBroker()
    filled(lone, 30, 100_000)
    client = lone.client()
    client.send(1, BasicConsume("q", "tag", no_ack=True))
    connection = client.connection
    assert connection.output_size >= DELIVERY_OUTPUT_BYTES_MAX
    assert connection.output_size < DELIVERY_OUTPUT_BYTES_MAX + 101_000
    left = lone.broker.vhosts["/"].queues["q"].ready
    assert left == 30 - 11
    client.output()
    assert connection.starved
    client.resume_writing()
    assert lone.broker.vhosts["/"].queues["q"].ready == left - 11


def test_a_paused_socket_gets_nothing_until_it_resumes() -> None:
    lone = LoneBroker()
    filled(lone, 3, 10)
    client = lone.client()
    client.connection.pause_writing()
    client.send(1, BasicConsume("q", "tag"))
    assert lone.broker.vhosts["/"].queues["q"].ready == 3
    client.resume_writing()
    assert lone.broker.vhosts["/"].queues["q"].ready == 0
    assert len(client.received()) == 4


def test_requests_are_not_read_while_too_many_answers_wait() -> None:
    lone = LoneBroker()
    filled(lone, 100, 100_000)
    client = lone.client()
    connection: Connection = client.connection
    for _ in range(REPLY_OUTPUT_BYTES_MAX // 100_000):
        client.send(1, BasicGet("q", no_ack=True))
    assert connection.wants_reading
    client.send(1, BasicGet("q", no_ack=True))
    assert not connection.wants_reading
    client.output()
    assert connection.wants_reading


def get_and_put_back(count: int) -> bytes:
    """A few bytes that ask for the same message again and again."""
    return b"".join(
        method_frame(1, BasicGet("q")) + method_frame(1, BasicNack(number + 1, False, True))
        for number in range(count)
    )


def take_answers(client: LoneClient) -> int:
    """As the shell does: send what there is, and go on when the client was held back."""
    count = 0
    while received := client.received():
        count += len(received)
        assert client.connection.output_size <= REPLY_OUTPUT_BYTES_MAX + 2_000_000
        if client.connection.starved:
            client.resume_writing()
    return count


def test_requests_of_one_read_wait_while_too_many_answers_do() -> None:
    lone = LoneBroker()
    filled(lone, 1, 1_000_000)
    client = lone.client()
    client.send_bytes(get_and_put_back(50) + method_frame(1, BasicQos()))
    assert client.connection.output_size <= REPLY_OUTPUT_BYTES_MAX + 2_000_000
    assert take_answers(client) == 51
    assert client.connection.parked_bytes == 0
    assert lone.broker.vhosts["/"].queues["q"].ready == 1
    client.send(1, BasicQos())
    assert client.methods() == [BasicQosOk()]


def test_parked_requests_wait_too() -> None:
    lone = LoneBroker(RecordingJournal())
    filled(lone, 1, 1_000_000)
    client = lone.client()
    client.send(1, QueueDeclare("d", durable=True))
    client.send_bytes(get_and_put_back(50))
    lone.sync()
    assert client.connection.output_size <= REPLY_OUTPUT_BYTES_MAX + 2_000_000
    assert take_answers(client) == 51


def test_a_connection_that_ends_while_its_requests_wait() -> None:
    lone = LoneBroker()
    filled(lone, 1, 1_000_000)
    client = lone.client()
    client.send_bytes(get_and_put_back(50))
    client.disconnect()
    assert client.connection.parked_bytes == 0
    assert lone.broker.vhosts["/"].queues["q"].ready == 1
    client.resume_writing()
    assert client.output() == b""


def test_too_many_connections() -> None:
    lone = LoneBroker(limits=Limits(connections_max=2))
    first = lone.client()
    lone.socket()
    with pytest.raises(TooManyConnections):
        lone.socket()
    first.disconnect()
    lone.socket()


# Messages that the broker sends by itself


def test_a_consumer_is_told_when_its_queue_is_deleted() -> None:
    lone = LoneBroker()
    client, other = lone.client(), lone.client()
    client.send(1, QueueDeclare("q"), BasicConsume("q", "tag"))
    client.received()
    other.send(1, QueueDelete("q"))
    assert client.methods() == [BasicCancel("tag", True)]
    assert client.connection.channels[1].consumers == {}


def test_a_client_without_the_capability_is_not_told() -> None:
    lone = LoneBroker()
    client, other = lone.client(capabilities={}), lone.client()
    client.send(1, QueueDeclare("q"), BasicConsume("q", "tag"))
    client.received()
    other.send(1, QueueDelete("q"))
    assert client.methods() == []
    assert client.connection.channels[1].consumers == {}


def test_an_empty_publish_frame_does_not_confuse_another_kind_of_frame() -> None:
    client = LoneBroker().client()
    client.send_bytes(method_frame(1, BasicPublish("", "q")) + encode_frame(METHOD, 1, b"\x00" * 4))
    close = close_of(client)
    assert (close.reply_code, close.class_id, close.method_id) == (505, 60, 40)
