"""The glue between a transport and a connection: how much is handed out, and when it is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from mqkit.wire import PROTOCOL_HEADER, Properties, content_frames, method_frame, methods
from reference_broker.core.base.limits import DELIVERY_OUTPUT_BYTES_MAX, MIB
from reference_broker.core.base.peer import Peer
from reference_broker.core.connection.connection import Connection
from reference_broker.runtime.net.connection_protocol import READ_BYTES_PER_TURN, ConnectionProtocol
from reference_broker.runtime.net.paced_output import PORTION_BYTES, PORTIONS_PER_TURN
from reference_broker.testing.lone_broker import LoneBroker

BODY = bytes(4 * MIB)


class Host:
    """The server's part: one protocol, flushed when the test says so."""

    def __init__(self, lone: LoneBroker) -> None:
        self.lone = lone
        self.gone = self.ended = False
        self.turn = 0

    def connected(self, protocol: ConnectionProtocol, peer: Peer) -> Connection | None:
        return self.lone.broker.connect(peer, *self.now())

    def lost(self, protocol: ConnectionProtocol) -> None:
        self.gone = True

    def disconnected(self, protocol: ConnectionProtocol) -> None:
        self.ended = True

    def input(self, cause: str) -> tuple[float, int]:
        return self.now()

    def now(self) -> tuple[float, int]:
        return self.lone.now_s, self.lone.wall_ms

    def input_handled(self) -> None:
        pass


class Socket(asyncio.Transport):
    """A transport whose peer reads when the test says so. Pauses and resumes as asyncio's do."""

    def __init__(self, protocol: ConnectionProtocol) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 6)})
        self.protocol = protocol
        self.buffer = bytearray()
        self.high = 0
        self.paused = False
        self.closed = False
        self.reading = True
        self.most = 0

    def is_reading(self) -> bool:
        return self.reading

    def pause_reading(self) -> None:
        assert self.reading, "uvloop raises here"
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading, "uvloop raises here"
        self.reading = True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        self.high = high

    def write(self, data: Any) -> None:
        self.buffer += data
        self.most = max(self.most, len(self.buffer))
        if len(self.buffer) > self.high and not self.paused:
            self.paused = True
            self.protocol.pause_writing()

    def read(self) -> bytes:
        """The peer reads everything."""
        data = bytes(self.buffer)
        self.buffer.clear()
        if self.paused:
            self.paused = False
            self.protocol.resume_writing()
        return data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class Side:
    """A client that is logged in and consumes from a queue, and a broker behind its socket."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.lone = LoneBroker()
        self.host = Host(self.lone)
        self.loop = loop
        self.protocol = ConnectionProtocol(self.host, loop)
        self.socket = Socket(self.protocol)
        self.protocol.connection_made(self.socket)
        self.protocol.data_received(PROTOCOL_HEADER)
        start_ok = methods.ConnectionStartOk({}, "PLAIN", b"\0guest\0guest")
        self.send(0, start_ok, methods.ConnectionTuneOk(9, 131_072, 0), methods.ConnectionOpen("/"))
        self.send(1, methods.ChannelOpen(), methods.QueueDeclare("q"))
        self.send(1, methods.BasicConsume("q", "t", no_ack=True))
        self.flush()
        self.read_all()
        self.socket.most = 0

    def send(self, channel: int, *sent: methods.Method) -> None:
        self.protocol.data_received(b"".join(method_frame(channel, each) for each in sent))

    def turn(self) -> None:
        """The loop comes round: what was called for runs, after the server's flush."""
        self.host.turn += 1
        self.flush()
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def flush(self) -> None:
        """Do as the server does at the end of a turn, until there is nothing to do."""
        while self.lone.broker.take_dirty_connections():
            self.protocol.flush()

    def read_all(self) -> bytes:
        data = b""
        while piece := self.socket.read():
            data += piece
            self.flush()
        return data

    @property
    def ready(self) -> int:
        return self.lone.broker.vhosts["/"].queues["q"].ready


@pytest.fixture
def side() -> Iterator[Side]:
    loop = asyncio.new_event_loop()
    yield Side(loop)
    loop.close()


def delivery(tag: int) -> bytes:
    deliver = methods.BasicDeliver("t", tag, False, "", "q")
    return content_frames(1, deliver, Properties(), BODY, 131_072)


def test_one_large_message_may_go_over_the_bound_and_no_more(side: Side) -> None:
    publisher = side.lone.client()
    for _ in range(3):
        publisher.publish("q", BODY)
    side.flush()
    assert side.ready == 2
    assert side.protocol.connection.output == []
    assert side.read_all() == delivery(1) + delivery(2) + delivery(3)
    assert side.ready == 0


def test_the_transport_never_has_more_than_its_mark_and_a_portion(side: Side) -> None:
    side.lone.client().publish("q", BODY)
    side.flush()
    assert side.read_all() == delivery(1)
    assert side.socket.most <= DELIVERY_OUTPUT_BYTES_MAX + PORTION_BYTES


def test_a_peer_that_reads_at_once_gets_a_large_message_in_several_turns(side: Side) -> None:
    side.socket.high = 1 << 40
    side.lone.client().publish("q", bytes(9 * MIB))
    side.flush()
    shares = [len(side.socket.read())]

    def turn_ends() -> None:
        shares.append(len(side.socket.read()))
        if side.protocol._output.is_empty:
            side.loop.stop()
        else:
            side.loop.call_soon(turn_ends)

    side.loop.call_soon(turn_ends)
    side.loop.run_forever()
    share = PORTIONS_PER_TURN * PORTION_BYTES
    assert shares[:-1] == [share, share]
    assert sum(shares) > 9 * MIB
    side.lone.client().publish("q", b"small")
    side.flush()
    assert b"small" in side.read_all()


def test_the_socket_is_closed_when_the_last_words_are_with_the_transport(side: Side) -> None:
    side.lone.client().publish("q", BODY)
    side.flush()
    side.send(0, methods.ConnectionClose(200, "bye", 0, 0), methods.ConnectionCloseOk())
    side.flush()
    assert side.protocol.connection.closed
    assert not side.socket.closed
    assert side.read_all() == delivery(1) + method_frame(0, methods.ConnectionCloseOk())
    assert side.socket.closed
    side.protocol.connection_lost(None)


def test_a_socket_that_is_gone_lets_go_of_the_message(side: Side) -> None:
    side.lone.client().publish("q", BODY)
    side.flush()
    side.socket.closed = True
    side.protocol.connection_lost(ConnectionResetError())
    assert side.host.gone
    side.flush()
    side.protocol.end()
    assert side.host.ended
    assert side.protocol._output.is_empty
    assert side.protocol.connection.output == []


def test_nothing_is_written_to_a_socket_that_is_gone_and_waits_for_its_end(side: Side) -> None:
    side.socket.closed = True
    side.protocol.connection_lost(ConnectionResetError())
    side.lone.client().publish("q", b"small")
    side.flush()
    assert side.socket.buffer == b""
    side.protocol.end()
    assert side.host.ended


def publishes(octets: int) -> bytes:
    """At least so many, of small messages that no queue gets."""
    one = content_frames(1, methods.BasicPublish("amq.fanout"), Properties(), b"x", 131_072)
    return one * (octets // len(one) + 1)


def test_a_socket_that_has_brought_its_share_waits_for_the_next_turn(side: Side) -> None:
    half = publishes(READ_BYTES_PER_TURN // 2)
    side.protocol.data_received(half)
    assert side.socket.reading
    side.protocol.data_received(half)
    assert not side.socket.reading
    side.turn()
    assert side.socket.reading
    side.protocol.data_received(half)
    assert side.socket.reading, "another turn, another share"


def test_what_a_socket_brings_over_many_turns_is_no_share(side: Side) -> None:
    half = publishes(READ_BYTES_PER_TURN // 2)
    for _ in range(4):
        side.protocol.data_received(half)
        assert side.socket.reading
        side.turn()


def test_a_socket_is_not_read_on_when_the_core_wants_no_more_of_it(side: Side) -> None:
    side.lone.broker.disk_low(*side.host.now())
    side.protocol.data_received(publishes(READ_BYTES_PER_TURN))
    assert not side.protocol.connection.wants_reading
    side.turn()
    assert not side.socket.reading
    side.lone.broker.disk_recovered(*side.host.now())
    side.turn()
    assert side.socket.reading


def test_a_socket_that_was_closed_meanwhile_is_left_alone(side: Side) -> None:
    side.protocol.data_received(publishes(READ_BYTES_PER_TURN))
    side.socket.abort()
    side.turn()
    assert not side.socket.reading


def test_a_socket_whose_certificate_can_not_be_read_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def unreadable(transport: asyncio.BaseTransport) -> None:
        raise ValueError("no name in it")

    loop = asyncio.new_event_loop()
    lone = LoneBroker()
    protocol = ConnectionProtocol(Host(lone), loop, unreadable)
    socket = Socket(protocol)
    protocol.connection_made(socket)
    assert socket.closed
    assert not lone.broker.connections
    expected = "127.0.0.1:5 refused: its certificate can't be read: no name in it"
    assert caplog.messages == [expected]
    loop.close()
