"""The listening sockets of AMQP: stopped, and again on the port that they had."""

from __future__ import annotations

import asyncio

import pytest

from reference_broker.core.base.peer import Peer
from reference_broker.runtime.net.acceptor import SocketAdmission
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.amqp_listener import AmqpListener
from reference_broker.runtime.process.descriptors import SocketBound, descriptor_limit

pytestmark = pytest.mark.anyio


class _Greeting(asyncio.Protocol):
    """Says who it is for, and hangs up."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(str(self._peer.local_port).encode())
        transport.close()


def _listener() -> AmqpListener:
    return AmqpListener(SocketAdmission(SocketBound(descriptor_limit())), _Greeting, None)


async def _said(address: Address) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    try:
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_it_listens_again_on_the_port_that_it_was_given(host: str) -> None:
    listener = _listener()
    ports: list[int] = []
    for _ in range(2):
        listener.listen(Address(host, 0))
        ports.append(listener.port)
        for address in listener.addresses:
            assert await _said(address) == str(listener.port).encode()
        await listener.stop()
        await listener.stop()
        with pytest.raises(ConnectionRefusedError):
            await _said(Address("127.0.0.1", listener.port))
    assert ports[0] == ports[1] > 0


async def test_a_stop_without_a_start() -> None:
    listener = _listener()
    await listener.stop()
    assert listener.addresses == []
