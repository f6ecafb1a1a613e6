"""link_listener: sockets go to the taker of the purpose that they begin with."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine

import pytest

from reference_broker.cluster.link.greetings import ACCEPTED_MAX
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.preface import encode_preface
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster import link_listener
from reference_broker.runtime.cluster.link_listener import LinkListener
from reference_broker.runtime.net.address import Address

TIMEOUT_S = 30


class Door:
    """A listener, and what it has handed on."""

    def __init__(self) -> None:
        self.taken: dict[Purpose, list[socket.socket]] = {purpose: [] for purpose in Purpose}
        takers = {purpose: self.taken[purpose].append for purpose in Purpose}
        self.listener = LinkListener(takers, has_tls=False)
        self.address = self.listener.listen(Address("127.0.0.1", 0))

    async def dial(self, octets: bytes) -> socket.socket:
        loop = asyncio.get_running_loop()
        dialled = socket.socket()
        dialled.setblocking(False)
        await loop.sock_connect(dialled, tuple(self.address))
        await loop.sock_sendall(dialled, octets)
        return dialled

    def close(self) -> None:
        self.listener.stop()
        self.listener.stop()
        for taken in self.taken.values():
            for each in taken:
                each.close()


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nobody tells it
        await asyncio.sleep(0)


async def _is_closed(dialled: socket.socket) -> bool:
    """True once the other end has closed; the socket is closed then."""
    try:
        octets = await asyncio.get_running_loop().sock_recv(dialled, 1)
    except ConnectionResetError:
        octets = b""
    dialled.close()
    return octets == b""


def _run(scenario: Coroutine[None, None, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(TIMEOUT_S):
            await scenario

    asyncio.run(bounded())


@pytest.mark.parametrize("purpose", Purpose)
def test_each_purpose_has_its_taker_who_finds_the_octet_that_follows(purpose: Purpose) -> None:
    async def scenario() -> None:
        door = Door()
        dialled = await door.dial(encode_preface(purpose) + b"TLS")
        await _until(lambda: any(door.taken.values()))
        (taken,) = door.taken[purpose]
        assert taken.recv(9) == b"TLS"
        dialled.close()
        door.close()

    _run(scenario())


def test_a_preface_may_come_octet_by_octet() -> None:
    async def scenario() -> None:
        door = Door()
        octets = encode_preface(Purpose.HEARTBEATS)
        dialled = await door.dial(octets[:1])
        for octet in octets[1:]:
            await asyncio.sleep(0)
            await asyncio.get_running_loop().sock_sendall(dialled, bytes([octet]))
        await _until(lambda: len(door.taken[Purpose.HEARTBEATS]) == 1)
        dialled.close()
        door.close()

    _run(scenario())


@pytest.mark.parametrize("octets", [b"GET / HTTP/1.1\r\n", b"AMQP\0\0\x09\x01", b"MQKN\x07", b""])
def test_who_is_no_node_is_closed_at_once(octets: bytes) -> None:
    async def scenario() -> None:
        door = Door()
        dialled = await door.dial(octets)
        if not octets:
            dialled.shutdown(socket.SHUT_WR)
        assert await _is_closed(dialled)
        assert not any(door.taken.values())
        door.close()

    _run(scenario())


def test_those_who_say_nothing_are_bounded_in_number_and_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        door = Door()
        silent = [await door.dial(b"M") for _ in range(ACCEPTED_MAX)]
        await _until(lambda: len(door.listener._awaited) == ACCEPTED_MAX)
        assert await _is_closed(await door.dial(b""))
        for each in silent:
            each.close()
        await _until(lambda: not door.listener._awaited)
        monkeypatch.setattr(link_listener, "GREETING_S", 0.01)
        assert await _is_closed(await door.dial(b"M"))
        last = await door.dial(b"")
        monkeypatch.undo()
        await _until(lambda: len(door.listener._awaited) <= 1)
        door.close()
        assert await _is_closed(last)
        assert not any(door.taken.values())

    _run(scenario())


def test_others_are_let_in_by_tls_only() -> None:
    async def scenario() -> None:
        without, with_tls = (LinkListener({}, has_tls=each) for each in (False, True))
        with pytest.raises(BadConfiguration, match="give them TLS"):
            without.listen(Address("0.0.0.0", 0))
        assert with_tls.listen(Address("0.0.0.0", 0)).port > 0
        without.stop()
        with_tls.stop()

    _run(scenario())
