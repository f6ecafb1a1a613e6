"""mqkit_bench.broker.sender: whole messages, whatever the socket takes."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.broker.message import Message
from mqkit_bench.broker.sender import Sender, TimedSender, middle
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


def test_each_message_s_wait_is_between_its_write_and_its_confirm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter([1.0, 2.0, 5.0, 6.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(now))
    ours, theirs = socket.socketpair()
    sender = TimedSender(ours, Ring([b"message"]))
    with ours, theirs:
        sender.offer(2)
        sender.offer(1)
        theirs.sendall(wire.method_frame(1, methods.BasicAck(1)))
        sender.receive()
        theirs.sendall(wire.method_frame(1, methods.BasicAck(3, multiple=True)))
        sender.receive()
        assert sender.waits() == [(4.0, 1), (5.0, 1), (4.0, 1)]
        assert sender.waits() == []


def test_the_middle_is_over_messages_and_not_over_reads() -> None:
    assert middle([(9.0, 1), (1.0, 5), (2.0, 3)]) == 1.0
    assert middle([(9.0, 10), (1.0, 5), (2.0, 3)]) == 9.0
    with pytest.raises(IndexError):
        middle([])
