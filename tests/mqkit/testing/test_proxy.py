"""The faulty proxy does to a link what it says, and nothing else."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest

from mqkit.testing.proxy import FaultyProxy

pytestmark = pytest.mark.anyio

Link = tuple[asyncio.StreamReader, asyncio.StreamWriter]

ACK = struct.pack(">HHQB", 60, 80, 1, 0)
DECLARE_OK = struct.pack(">HH", 50, 11) + b"\x01q" + bytes(8)


def frame(payload: bytes, channel: int = 1) -> bytes:
    return struct.pack(">BHI", 1, channel, len(payload)) + payload + b"\xce"


class Broker:
    """A server whose side of each link the test holds."""

    def __init__(self) -> None:
        self.links: asyncio.Queue[Link] = asyncio.Queue()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.links.put_nowait((reader, writer))


@pytest.fixture
async def broker() -> Broker:
    return Broker()


@pytest.fixture
async def proxy(broker: Broker) -> AsyncIterator[FaultyProxy]:
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    async with server, FaultyProxy("127.0.0.1", server.sockets[0].getsockname()[1]) as proxy:
        yield proxy


async def connect(proxy: FaultyProxy, broker: Broker) -> tuple[Link, Link]:
    client = await asyncio.open_connection(proxy.host, proxy.port)
    async with asyncio.timeout(10):
        return client, await broker.links.get()


async def read(reader: asyncio.StreamReader, size: int) -> bytes:
    async with asyncio.timeout(10):
        return await reader.readexactly(size)


async def ends(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(10):
        try:
            return await reader.read() == b""
        except ConnectionError:
            return True


async def test_it_forwards_both_ways(proxy: FaultyProxy, broker: Broker) -> None:
    client, server = await connect(proxy, broker)
    client[1].write(b"AMQP\x00\x00\x09\x01")
    assert await read(server[0], 8) == b"AMQP\x00\x00\x09\x01"
    server[1].write(frame(DECLARE_OK) + frame(ACK))
    whole = frame(DECLARE_OK) + frame(ACK)
    assert await read(client[0], len(whole)) == whole
    assert (proxy.accepted, proxy.connections) == (1, 1)


async def test_cutting_ends_both_sides(proxy: FaultyProxy, broker: Broker) -> None:
    client, server = await connect(proxy, broker)
    proxy.cut()
    assert await ends(client[0])
    assert await ends(server[0])


async def test_the_end_of_one_side_is_the_end_of_the_other(
    proxy: FaultyProxy, broker: Broker
) -> None:
    client, server = await connect(proxy, broker)
    client[1].close()
    assert await ends(server[0])


async def test_a_confirm_is_withheld_and_the_link_cut(proxy: FaultyProxy, broker: Broker) -> None:
    client, server = await connect(proxy, broker)
    proxy.cut_before_confirm(after=1)
    server[1].write(frame(ACK) + frame(DECLARE_OK) + frame(ACK))
    passed = frame(ACK) + frame(DECLARE_OK)
    assert await read(client[0], len(passed)) == passed
    assert await ends(client[0])
    second_client, second_server = await connect(proxy, broker)
    second_server[1].write(frame(ACK))
    assert await read(second_client[0], len(frame(ACK))) == frame(ACK)


async def test_a_stalled_link_passes_nothing_until_resumed(
    proxy: FaultyProxy, broker: Broker
) -> None:
    client, server = await connect(proxy, broker)
    proxy.stall()
    client[1].write(b"out")
    server[1].write(frame(ACK))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client[0].readexactly(1)
    proxy.resume()
    assert await read(client[0], len(frame(ACK))) == frame(ACK)
    assert await read(server[0], 3) == b"out"


async def test_refused_connections_end_at_once(proxy: FaultyProxy, broker: Broker) -> None:
    proxy.refuse()
    reader, _ = await asyncio.open_connection(proxy.host, proxy.port)
    assert await ends(reader)
    proxy.accept()
    await connect(proxy, broker)


async def test_blocking_puts_in_frames_of_its_own(proxy: FaultyProxy, broker: Broker) -> None:
    client, _ = await connect(proxy, broker)
    proxy.block("why")
    blocked = frame(struct.pack(">HH", 10, 60) + b"\x03why", channel=0)
    assert await read(client[0], len(blocked)) == blocked
    proxy.unblock()
    unblocked = frame(struct.pack(">HH", 10, 61), channel=0)
    assert await read(client[0], len(unblocked)) == unblocked


async def test_a_protocol_mismatch_passes_through(proxy: FaultyProxy, broker: Broker) -> None:
    client, server = await connect(proxy, broker)
    server[1].write(b"AMQP\x00\x01\x00\x00")
    server[1].close()
    assert await read(client[0], 8) == b"AMQP\x00\x01\x00\x00"
    assert await ends(client[0])


async def test_the_url_leads_through_the_proxy() -> None:
    async with FaultyProxy.before("amqp://me:secret@broker.example:5673/shop") as proxy:
        assert proxy.url == f"amqp://me:secret@127.0.0.1:{proxy.port}/shop"
