"""mqkit_bench.broker.receiver: messages by their bytes, acks by their count."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.broker.message import Message
from mqkit_bench.broker.receiver import Receiver

DELIVERY = Message(routing_key="q", body_bytes=50).delivery_frames("tag")


@pytest.fixture
def pair() -> Iterator[tuple[Receiver, socket.socket]]:
    ours, peer = socket.socketpair()
    with closing(Receiver(ours, len(DELIVERY), ack_every=2)) as receiver, peer:
        peer.settimeout(5)
        yield receiver, peer


def test_bytes_are_messages(pair: tuple[Receiver, socket.socket]) -> None:
    receiver, peer = pair
    peer.sendall(DELIVERY * 2 + DELIVERY[:7])
    receiver.receive()
    assert receiver.received == 2
    assert not receiver.is_whole
    peer.sendall(DELIVERY[7:])
    receiver.receive()
    assert (receiver.received, receiver.is_whole) == (3, True)


def test_acks_are_multiple_and_none_is_repeated(pair: tuple[Receiver, socket.socket]) -> None:
    receiver, peer = pair
    receiver.ack(3)
    receiver.ack(3)
    receiver.ack(2)
    assert receiver.acked == 3
    assert peer.recv(1000) == wire.method_frame(1, methods.BasicAck(3, multiple=True))


def test_where_nothing_is_awaited_nothing_is_acked(pair: tuple[Receiver, socket.socket]) -> None:
    receiver, _ = pair
    receiver.ack_every = 0
    receiver.ack(3)
    assert (receiver.acked, receiver.is_whole) == (0, True)


def test_a_delivery_s_length_is_learned(pair: tuple[Receiver, socket.socket]) -> None:
    receiver, peer = pair
    longer = Message(routing_key="another", body_bytes=60).delivery_frames("tag")
    peer.sendall(longer)
    receiver.learn()
    assert (receiver.message_bytes, receiver.received) == (len(longer), 1)
    assert not receiver.socket.getblocking()


def test_the_end_is_when_the_channel_is_closed(pair: tuple[Receiver, socket.socket]) -> None:
    receiver, peer = pair
    finishing = threading.Thread(target=receiver.finish)
    finishing.start()
    parser = wire.FrameParser(frame_max=131_072)
    while (frame := parser.next_frame()) is None:
        parser.receive_data(peer.recv(1000))
    assert isinstance(wire.decode_method(frame.payload), methods.ChannelClose)
    peer.sendall(DELIVERY + wire.method_frame(1, methods.ChannelCloseOk()))
    finishing.join(5)
    assert not finishing.is_alive()
