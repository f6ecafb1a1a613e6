"""mqkit_bench.broker.sender: whole messages, whatever the socket takes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.broker.message import Message
from mqkit_bench.broker.sender import Sender
from mqkit_bench.ring import Ring

FRAMES = Message(routing_key="q", body_bytes=100_000).publish_frames()


@pytest.fixture
def pair() -> Iterator[tuple[Sender, socket.socket]]:
    ours, peer = socket.socketpair()
    with closing(Sender(ours, Ring([FRAMES]))) as sender, peer:
        yield sender, peer


def test_a_full_socket_blocks_and_what_was_begun_is_ended(
    pair: tuple[Sender, socket.socket],
) -> None:
    sender, peer = pair
    sender.offer(100)
    assert sender.blocked
    assert sender.sent == 100
    sender.take_back()
    assert 0 < sender.sent < 100
    wanted = sender.sent * len(FRAMES)
    peer.settimeout(5)
    got = 0
    while got < wanted:
        got += len(peer.recv(1 << 20))
        sender.resume()
    assert sender.is_idle
    assert not sender.blocked
    assert got == wanted


def test_what_was_not_begun_is_taken_back(pair: tuple[Sender, socket.socket]) -> None:
    sender, peer = pair
    sender.offer(1)
    peer.settimeout(5)
    got = 0
    while got < len(FRAMES):
        got += len(peer.recv(1 << 20))
        sender.resume()
    sender.take_back()
    assert sender.sent == 1


def test_more_confirms_than_publishes_are_an_error(pair: tuple[Sender, socket.socket]) -> None:
    sender, peer = pair
    sender.offer(1)
    peer.sendall(wire.method_frame(1, methods.BasicAck(1)))
    sender.receive()
    assert sender.confirmed == 1
    peer.sendall(wire.method_frame(1, methods.BasicAck(3, multiple=True)))
    with pytest.raises(ConnectionError, match="3 confirmed, but only 1 sent"):
        sender.receive()
