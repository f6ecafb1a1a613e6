"""Accepted sockets and their PROXY header: what is read, what is left, and what it may cost."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import uvloop

from reference_broker.core.base.peer import Ends, Peer, ProxyHeader
from reference_broker.runtime.net import proxied_sockets
from reference_broker.runtime.net.proxied_sockets import (
    HEADERS_MAX,
    HEADERS_PER_SOURCE_MAX,
    ProxiedSockets,
)
from reference_broker.runtime.net.proxy_sources import ProxySources
from reference_broker.testing.proxy_header import health_check, relayed, tlv

pytestmark = pytest.mark.anyio

PROXY = Peer("127.0.0.1", 1_000, "127.0.0.1", 5672)
STRANGER = Peer("192.0.2.1", 1_000, "127.0.0.1", 5672)
CLAIMED = Ends("198.51.100.7", 40_000, "203.0.113.1", 5672)
LONG = relayed(CLAIMED, tlv(4, bytes(1_000)), checksum=True)
BEHIND = b"AMQP\0\0\x09\x01"


@pytest.fixture(
    params=[
        pytest.param(("asyncio", {"loop_factory": asyncio.new_event_loop}), id="asyncio"),
        pytest.param(("asyncio", {"loop_factory": uvloop.new_event_loop}), id="uvloop"),
    ]
)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return request.param


class Listener:
    """Sockets that seem to be accepted, and those that were handed on."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.handed_on: list[tuple[bytes, Peer]] = []
        self.came = asyncio.Event()
        self._open = ExitStack()
        sources = ProxySources.parse(["127.0.0.0/8", "fd00::/8"])
        self.proxied = ProxiedSockets("AMQP", sources, self._take, self.lines.append)

    def connect(self, peer: Peer, *sent: bytes) -> socket.socket:
        """A client that has sent all that before it was accepted."""
        client, accepted = socket.socketpair()
        self._open.enter_context(client)
        self._open.enter_context(accepted)
        for each in (client, accepted):
            each.setblocking(False)
        for octets in sent:
            client.sendall(octets)
        self.proxied.accepted(accepted, peer)
        return client

    async def next(self) -> tuple[bytes, Peer]:
        """The octets behind the header of the next socket that is handed on, and its peer."""
        await asyncio.wait_for(self.came.wait(), 10)
        self.came.clear()
        return self.handed_on.pop()

    def _take(self, accepted: socket.socket, peer: Peer) -> None:
        try:
            rest = accepted.recv(100)
        except BlockingIOError:
            rest = b""
        self.handed_on.append((rest, peer))
        self.came.set()

    def close(self) -> None:
        self.proxied.stop()
        self._open.close()


@pytest.fixture
async def listener(anyio_backend: object) -> Iterator[Listener]:  # type: ignore[misc]
    made = Listener()
    yield made
    made.close()


async def ended(client: socket.socket) -> bool:
    """Wait until the other end is closed."""
    try:
        return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 1), 10) == b""
    except ConnectionResetError:  # there were octets that nobody has read
        return True


async def test_a_header_that_is_there_is_taken_at_once(listener: Listener) -> None:
    listener.connect(PROXY, LONG + BEHIND)
    [(rest, peer)] = listener.handed_on
    assert rest == BEHIND
    assert peer == Peer(*PROXY.shown, proxy=ProxyHeader(CLAIMED))


async def test_a_health_check_keeps_the_addresses_of_its_socket(listener: Listener) -> None:
    listener.connect(PROXY, health_check())
    [(_, peer)] = listener.handed_on
    assert peer.shown == PROXY.shown
    assert not peer.is_loopback


async def test_octet_by_octet(listener: Listener) -> None:
    client = listener.connect(PROXY)
    loop = asyncio.get_running_loop()
    short = relayed(CLAIMED)
    for at in range(len(short)):
        assert not listener.handed_on
        await loop.sock_sendall(client, short[at : at + 1])
        await asyncio.sleep(0)
    rest, peer = await listener.next()
    assert (rest, peer.shown) == (b"", CLAIMED)


async def test_who_is_not_listed_is_not_looked_at(listener: Listener) -> None:
    listener.connect(STRANGER, LONG)
    [(rest, peer)] = listener.handed_on
    assert rest == LONG[:100]
    assert peer is STRANGER


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (BEHIND, "it sends no PROXY header, but speaks AMQP"),
        (b"PROXY TCP4 198.51.100.7 203.0.113.1 1 2\r\n", "version 1"),
        (LONG[:-1] + b"\0\0", "the checksum"),
    ],
)
async def test_what_is_refused(listener: Listener, sent: bytes, reason: str) -> None:
    client = listener.connect(PROXY, sent)
    assert await ended(client)
    [line] = listener.lines
    assert line.startswith("127.0.0.1:1000 refused by AMQP: ")
    assert reason in line
    assert not listener.handed_on


async def test_many_bad_headers_are_one_line(listener: Listener) -> None:
    for _ in range(50):
        assert await ended(listener.connect(PROXY, BEHIND))
    assert len(listener.lines) == 1


async def test_a_header_that_does_not_come(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxied_sockets, "PROXY_HEADER_S", 0)
    client = listener.connect(PROXY, LONG[:-1])
    assert await ended(client)
    assert "took longer than 0 s" in listener.lines[0]
    assert not listener.handed_on


@pytest.mark.parametrize("begun", [0, 1, 15, 16, 40])
async def test_a_client_that_leaves_in_the_middle_leaves_quietly(
    listener: Listener, begun: int
) -> None:
    client = listener.connect(PROXY, LONG[:begun])
    client.shutdown(socket.SHUT_WR)
    assert await ended(client)
    assert not listener.lines
    assert not listener.handed_on


async def test_an_address_has_a_part_of_the_places_and_gives_them_back(listener: Listener) -> None:
    waiting = [listener.connect(PROXY) for _ in range(HEADERS_PER_SOURCE_MAX)]
    assert await ended(listener.connect(PROXY, LONG))
    assert "too many PROXY headers are awaited" in listener.lines[0]
    listener.connect(Peer("127.0.0.2", 1, "127.0.0.1", 5672), LONG)
    assert len(listener.handed_on) == 1
    waiting[0].sendall(LONG)
    await listener.next()
    listener.connect(PROXY, LONG)
    assert len(listener.handed_on) == 2


async def test_all_addresses_together_have_a_bound(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxied_sockets, "HEADERS_MAX", 3)
    for number in range(3):
        listener.connect(Peer(f"127.0.0.{number}", 1, "127.0.0.1", 5672))
    assert await ended(listener.connect(PROXY, LONG))
    assert HEADERS_MAX == 4 * HEADERS_PER_SOURCE_MAX


async def test_a_stop_closes_those_that_wait(listener: Listener) -> None:
    waiting = [listener.connect(PROXY, LONG[:begun]) for begun in (0, 20)]
    listener.proxied.stop()
    listener.proxied.stop()
    for client in waiting:
        assert await ended(client)
    assert not listener.lines
