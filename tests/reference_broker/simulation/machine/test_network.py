from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.network import LATENCY_US, Link, Stream
from reference_broker.simulation.machine.stamps import Part

A_WHILE_US = 10_000_000
SENT = [bytes([65 + number]) * (1 + 7 * number) for number in range(20)]


class Receiver:
    def __init__(self, seed: int = 0) -> None:
        self.clock = SimulatedClock()
        self.data = b""
        self.parts: list[Part] = []
        self.ends = 0
        self.stream = Stream(self.clock, Random(seed), self._arrived, self._ended)

    def _arrived(self, data: bytes, sent: int) -> None:
        assert not self.ends
        assert data
        self.data += data
        self.parts.append(Part(len(data), sent))

    def _ended(self) -> None:
        self.ends += 1

    def send_all(self) -> None:
        for data in SENT:
            self.stream.send(data)


@pytest.mark.parametrize("seed", range(10))
def test_everything_arrives_in_order_however_it_is_cut(seed: int) -> None:
    receiver = Receiver(seed)
    receiver.send_all()
    assert receiver.data == b""
    receiver.clock.run(A_WHILE_US)
    assert receiver.data == b"".join(SENT)
    stamps = [stamp for _, stamp in receiver.parts]
    assert stamps == sorted(stamps)
    assert len(stamps) > len(SENT)
    assert receiver.stream.waiting_bytes == 0


@pytest.mark.parametrize("seed", range(10))
def test_parts_of_what_is_sent_keep_their_stamps_however_it_is_cut(seed: int) -> None:
    receiver = Receiver(seed)
    expected: list[int] = []
    for number, data in enumerate(SENT):
        parts = [Part(1, 2 * number)]
        if len(data) > 1:
            parts.append(Part(len(data) - 1, 2 * number + 1))
        receiver.stream.send(data, parts)
        expected += [stamp for size, stamp in parts for _ in range(size)]
    receiver.clock.run(A_WHILE_US)
    assert receiver.data == b"".join(SENT)
    assert [stamp for size, stamp in receiver.parts for _ in range(size)] == expected


def test_a_receiver_that_goes_at_a_part_is_given_no_more() -> None:
    receiver = Receiver()
    arrived: list[bytes] = []

    def take_and_go(data: bytes, sent: int) -> None:
        arrived.append(data)
        stream.close()

    stream = Stream(receiver.clock, Random(3), take_and_go, lambda: None)
    stream.send(b"one", [Part(1, 1), Part(2, 2)])
    receiver.clock.run(A_WHILE_US)
    assert arrived == [b"o"]


def test_nothing_is_faster_than_the_network() -> None:
    receiver = Receiver()
    receiver.stream.send(b"x")
    receiver.clock.run(LATENCY_US[0] - 1)
    assert receiver.data == b""
    receiver.clock.run(LATENCY_US[1])
    assert receiver.data == b"x"


@pytest.mark.parametrize("seed", range(10))
def test_a_cut_keeps_some_prefix_and_then_ends(seed: int) -> None:
    receiver = Receiver(seed)
    receiver.send_all()
    receiver.stream.cut()
    receiver.stream.send(b"too late")
    receiver.clock.run(A_WHILE_US)
    assert b"".join(SENT).startswith(receiver.data)
    assert len(receiver.data) < len(b"".join(SENT))
    assert receiver.ends == 1


def test_finish_ends_after_everything_arrived() -> None:
    receiver = Receiver()
    receiver.send_all()
    receiver.stream.finish()
    receiver.stream.cut()
    receiver.clock.run(A_WHILE_US)
    assert (receiver.data, receiver.ends) == (b"".join(SENT), 1)


def test_after_close_nothing_arrives() -> None:
    receiver = Receiver()
    receiver.send_all()
    receiver.stream.close()
    receiver.stream.send(b"x")
    receiver.clock.run(A_WHILE_US)
    assert (receiver.data, receiver.ends) == (b"", 0)


def test_a_receiver_that_reads_no_more_is_given_nothing() -> None:
    receiver = Receiver()
    receiver.stream.hold()
    receiver.send_all()
    receiver.clock.run(A_WHILE_US)
    assert receiver.data == b""
    assert receiver.stream.waiting_bytes == len(b"".join(SENT))
    receiver.stream.release()
    receiver.clock.run(2 * A_WHILE_US)
    assert receiver.data == b"".join(SENT)


def test_a_stall_delays_what_is_on_its_way_and_what_follows() -> None:
    receiver = Receiver()
    receiver.stream.send(b"x")
    receiver.stream.stall(1_000_000)
    receiver.stream.send(b"y")
    receiver.clock.run(999_999)
    assert receiver.data == b""
    receiver.clock.run(1_100_000)
    assert receiver.data == b"xy"


def test_the_sender_is_told_when_bytes_move() -> None:
    receiver = Receiver()
    moves: list[int] = []
    receiver.stream.moved = lambda: moves.append(receiver.stream.waiting_bytes)
    receiver.send_all()
    receiver.clock.run(A_WHILE_US)
    assert moves == sorted(moves, reverse=True)
    assert moves[-1] == 0


@pytest.mark.parametrize(
    ("end", "ends"), [("cut", (1, 1)), ("broker_gone", (0, 1)), ("client_gone", (1, 0))]
)
def test_who_hears_of_the_end(end: str, ends: tuple[int, int]) -> None:
    broker, client = Receiver(1), Receiver(2)
    link = Link(1, broker.stream, client.stream)
    getattr(link, end)()
    for side in (broker, client):
        side.clock.run(A_WHILE_US)
    assert (broker.ends, client.ends) == ends
