"""The slot of a socket in its TLS handshake: given back once, before the protocol inside begins."""

from __future__ import annotations

import asyncio

import pytest

from reference_broker.core.base.peer import Peer
from reference_broker.core.connection.open_handshakes import OpenHandshakes
from reference_broker.runtime.tls import handshake_slot
from reference_broker.runtime.tls.handshake_slot import HandshakeSlot

PEER = Peer("192.0.2.1", 50_000, "192.0.2.2", 5671)


class Transport(asyncio.Transport):
    """A transport whose handshake is over."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: asyncio.BaseProtocol | None = None
        self.aborted = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def abort(self) -> None:
        self.aborted = True


class Inside(asyncio.Protocol):
    """A protocol that takes a slot of its own when it is connected."""

    def __init__(self, handshakes: OpenHandshakes) -> None:
        self._handshakes = handshakes
        self.connected = False
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.connected = self._handshakes.enter(PEER)

    def data_received(self, data: bytes) -> None:
        assert self.connected
        self.received += data


class Handshake:
    """One slot for each address, and a socket that has it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: ValueError | None = None) -> None:
        def check(transport: asyncio.BaseTransport) -> None:
            if error is not None:
                raise error

        monkeypatch.setattr(handshake_slot, "check_client", check)
        self.handshakes = OpenHandshakes(1)
        assert self.handshakes.enter(PEER)
        self.inside = Inside(self.handshakes)
        self.refusals: list[str] = []
        self.transport = Transport()
        self.slot = HandshakeSlot(PEER, self.handshakes, lambda: self.inside, self.refusals.append)


def test_the_slot_is_free_for_the_protocol_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    handshake = Handshake(monkeypatch)
    handshake.slot.connection_made(handshake.transport)
    assert handshake.inside.connected
    assert handshake.transport.protocol is handshake.inside
    assert handshake.handshakes.count(PEER) == 1


def test_what_came_right_behind_the_handshake_is_for_the_protocol_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handshake = Handshake(monkeypatch)
    handshake.slot.data_received(b"AMQP")
    handshake.slot.data_received(b"\0\0\x09\x01")
    handshake.slot.connection_made(handshake.transport)
    assert handshake.inside.received == b"AMQP\0\0\x09\x01"


def test_a_client_that_leaves_right_behind_its_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    handshake = Handshake(monkeypatch)
    handshake.slot.connection_lost(None)
    handshake.slot.connection_made(handshake.transport)
    assert not handshake.inside.connected
    assert handshake.transport.protocol is None
    assert handshake.handshakes.count(PEER) == 0


def test_a_slot_is_given_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    handshake = Handshake(monkeypatch)
    handshake.slot.leave()
    assert handshake.handshakes.count(PEER) == 0
    assert handshake.handshakes.enter(PEER)
    handshake.slot.leave()
    assert handshake.handshakes.count(PEER) == 1


def test_a_client_with_a_bad_certificate_comes_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    handshake = Handshake(monkeypatch, ValueError("it has expired"))
    handshake.slot.connection_made(handshake.transport)
    assert handshake.transport.aborted
    assert handshake.transport.protocol is None
    assert handshake.refusals == ["it has expired"]
    assert handshake.handshakes.count(PEER) == 0
