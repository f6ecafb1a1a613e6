"""bench.load: what is counted is what was sent, confirmed and received."""

from __future__ import annotations

import socket
from typing import Any

import pika
import pytest

from bench.load import ACK_FRAME, BLOCK_MESSAGES, Measured, Publisher, Workload, run
from bench.session import Address
from mqkit import wire
from mqkit.url import parse
from mqkit.wire import methods


@pytest.fixture
def address(broker: Any) -> Address:
    endpoint = parse(broker.url)
    return Address(endpoint.host, endpoint.port)


def test_a_short_run_balances(address: Address) -> None:
    """`run` itself compares what was sent with what was received, byte for byte."""
    measured = run(address, Workload(seconds=0.2, body_bytes=100, queue="bench.test"))
    assert measured.messages > 0
    assert measured.rate > 0
    assert len(measured.confirm_latencies_s) >= measured.messages // BLOCK_MESSAGES


def test_the_load_is_gone_afterwards(address: Address, broker: Any) -> None:
    run(address, Workload(seconds=0.05, queue="bench.test"))
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="no queue"):
            channel.queue_declare("bench.test", passive=True)


@pytest.fixture
def publisher(reference_broker: Any) -> Any:
    endpoint = parse(reference_broker.url)
    publisher = Publisher(Address(endpoint.host, endpoint.port), Workload())
    yield publisher
    publisher.socket.close()


def confirm(publisher: Any, *answers: bytes) -> int:
    """Let the publisher receive these frames; how many messages it then takes for confirmed."""
    publisher.socket.close()
    publisher.socket, peer = socket.socketpair()
    publisher.socket.setblocking(False)
    with peer:
        for answer in answers:
            peer.sendall(answer)
            publisher.receive()
    return int(publisher.confirmed)


def ack(tag: int, *, multiple: bool = False) -> bytes:
    return wire.method_frame(1, methods.BasicAck(tag, multiple=multiple))


def test_confirms_single_and_multiple_in_any_order(publisher: Any) -> None:
    assert len(ack(1)) == ACK_FRAME.size
    assert confirm(publisher, ack(2), ack(3)) == 0
    assert confirm(publisher, ack(1)) == 3
    assert confirm(publisher, ack(10, multiple=True), ack(11)) == 11
    assert confirm(publisher, ack(5, multiple=True)) == 11


def test_a_confirm_that_arrives_in_pieces(publisher: Any) -> None:
    frame = ack(7, multiple=True)
    assert confirm(publisher, frame[:5], frame[5:20], frame[20:]) == 7


def test_anything_else_than_an_ack_ends_the_run(publisher: Any) -> None:
    with pytest.raises(ConnectionError, match=r"60\.120"):
        confirm(publisher, wire.method_frame(1, methods.BasicNack(1)))


def test_latencies_are_read_by_quantile() -> None:
    measured = Measured(confirm_latencies_s=[n / 1000 for n in range(1, 101)])
    assert measured.latency_ms(0.50) == 51
    assert measured.latency_ms(0.99) == 100
    assert measured.latency_ms(1.0) == 100
