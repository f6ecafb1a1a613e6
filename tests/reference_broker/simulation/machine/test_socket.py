from __future__ import annotations

from random import Random

import pytest

from mqkit.wire import PROTOCOL_HEADER, method_frame
from mqkit.wire.methods import ConnectionStartOk
from reference_broker.core.base.peer import Peer
from reference_broker.core.connection.connection import Connection
from reference_broker.runtime.net.connection_protocol import CLOSE_LINGER_S, ConnectionProtocol
from reference_broker.simulation.events.clock import START_WALL_MS, SimulatedClock
from reference_broker.simulation.machine.network import Link, Stream
from reference_broker.simulation.machine.portions import small_portions
from reference_broker.simulation.machine.socket import (
    SOCKET_BUFFER_BYTES,
    SimulatedSocket,
    SocketLoop,
)
from reference_broker.testing.lone_broker import LoneBroker

SECOND_US = 1_000_000


class Rig:
    """A host of one socket, flushed after each input, and the client at the other end."""

    def __init__(self) -> None:
        self.lone = LoneBroker()
        self.clock = SimulatedClock()
        self.turn = 0
        self.told: list[str] = []
        self.received = b""
        self.handed_out_ms: list[int] = []
        """Of each octet that the client has received: the time of its hand-out, from the start."""
        to_broker = Stream(self.clock, Random(1), self._arrived, lambda: self.socket.ended())
        to_client = Stream(self.clock, Random(2), self._received, lambda: self.told.append("eof"))
        self.link = Link(3, to_broker, to_client)
        self.tapped = b""
        self.socket = SimulatedSocket(self.link, self._tap)
        self.socket.begin(self, SocketLoop(self.clock))

    def _arrived(self, data: bytes, sent: int) -> None:
        self.socket.received(data)

    def _received(self, data: bytes, sent: int) -> None:
        self.received += data
        self.handed_out_ms += [self.clock.wall_ms(sent) - START_WALL_MS] * len(data)

    def _tap(self, link: Link, data: bytes) -> None:
        assert link is self.link
        self.tapped += data

    def connected(self, protocol: ConnectionProtocol, peer: Peer) -> Connection:
        self.peer = peer
        self.protocol = protocol
        self.connection = self.lone.broker.connect(peer, *self.now())
        return self.connection

    def lost(self, protocol: ConnectionProtocol) -> None:
        self.told.append("lost")
        protocol.end()

    def disconnected(self, protocol: ConnectionProtocol) -> None:
        self.told.append("disconnected")

    def now(self) -> tuple[float, int]:
        return self.clock.mono_s(), self.clock.wall_ms()

    def input(self, cause: str) -> tuple[float, int]:
        return self.now()

    def input_handled(self) -> None:
        self.turn += 1
        self.protocol.flush()

    def run(self, seconds: float = 1) -> None:
        self.clock.run(self.clock.now_us + round(seconds * SECOND_US))


def test_bytes_go_both_ways_and_the_wiretap_has_those_of_the_broker() -> None:
    rig = Rig()
    assert rig.peer == Peer("127.0.0.1", 49_155, "127.0.0.1", 5672)
    rig.link.to_broker.send(PROTOCOL_HEADER)
    rig.run()
    assert rig.received
    assert rig.received == rig.tapped


def test_a_client_that_reads_slowly_has_the_connection_wait_until_half_is_gone() -> None:
    rig = Rig()
    rig.link.to_client.stall(2 * SECOND_US)
    rig.connection.write(bytes(SOCKET_BUFFER_BYTES + 1))
    rig.input_handled()
    rig.connection.write(b"more")
    rig.input_handled()
    assert rig.connection.delivery_limit == 0
    assert rig.socket.get_write_buffer_size() == SOCKET_BUFFER_BYTES + 1
    rig.run(1)
    assert rig.connection.delivery_limit == 0
    rig.run(5)
    assert rig.connection.delivery_limit > 0
    assert rig.received.endswith(b"more")


def test_the_end_of_a_client_is_told_once() -> None:
    rig = Rig()
    rig.link.client_gone()
    rig.run(60)
    rig.socket.ended()
    assert rig.told == ["lost", "disconnected"]
    assert not rig.lone.broker.connections


def test_a_closed_connection_sends_its_last_words_and_is_lost_then() -> None:
    rig = Rig()
    rig.link.to_client.stall(3 * SECOND_US)
    rig.connection.write(b"last words")
    rig.connection.drop("for a test")
    rig.input_handled()
    assert rig.socket.is_closing()
    rig.link.to_broker.send(b"nobody reads this")
    rig.run(1)
    assert rig.told == []
    rig.run(10)
    assert sorted(rig.told) == ["disconnected", "eof", "lost"]
    assert rig.received.startswith(b"last words")


def test_who_does_not_read_the_last_words_is_cut_off_after_a_while() -> None:
    rig = Rig()
    rig.link.to_client.stall(100 * SECOND_US)
    rig.connection.write(b"last words")
    rig.connection.drop("for a test")
    rig.input_handled()
    rig.run(CLOSE_LINGER_S - 0.1)
    assert rig.told == []
    rig.run(0.2)
    assert rig.told == ["lost", "disconnected"]


@pytest.mark.parametrize("finish", [True, False])
def test_a_process_that_is_gone_is_called_no_more(finish: bool) -> None:
    rig = Rig()
    rig.connection.write(bytes(2 * SOCKET_BUFFER_BYTES))
    rig.input_handled()
    rig.socket.vanish(finish=finish)
    rig.link.to_broker.send(PROTOCOL_HEADER)
    rig.run(60)
    assert rig.told == ["eof"]
    assert not finish or len(rig.received) == 2 * SOCKET_BUFFER_BYTES
    assert rig.connection.delivery_limit == 0


def test_an_error_of_the_broker_goes_on_to_whoever_runs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    monkeypatch.setattr(Connection, "receive_data", lambda *_: 1 // 0)
    rig.link.to_broker.send(method_frame(0, ConnectionStartOk()))
    with pytest.raises(ZeroDivisionError):
        rig.run()


def test_what_waits_for_its_portion_counts_as_sent() -> None:
    rig = Rig()
    rig.link.to_client.stall(2 * SECOND_US)
    large = bytes(8 * SOCKET_BUFFER_BYTES)
    with small_portions(2 * SOCKET_BUFFER_BYTES):
        rig.connection.write(large)
        rig.input_handled()
        assert rig.tapped == large
        assert rig.socket.get_write_buffer_size() == 2 * SOCKET_BUFFER_BYTES
        rig.run(10)
    assert rig.received == large


@pytest.mark.parametrize("portion_bytes", [100, 7 * SOCKET_BUFFER_BYTES])
def test_what_is_late_in_its_socket_has_the_time_of_its_turn(portion_bytes: int) -> None:
    rig = Rig()
    rig.link.to_client.stall(3 * SECOND_US)
    sizes = (2 * SOCKET_BUFFER_BYTES, 300, 500)
    with small_portions(portion_bytes):
        for size in sizes:
            rig.connection.write(bytes(size))
            rig.input_handled()
            rig.run(0.5)
        assert not rig.received
        rig.run(10)
    assert rig.handed_out_ms == [0] * sizes[0] + [500] * sizes[1] + [1_000] * sizes[2]
