"""The proxy's faults, seen by plain sockets at both ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from interop.chaos.facts import FactsFile
from interop.chaos.proxy import Proxy

WAIT_S = 10.0
HELLO = b"AMQP\0\0\x09\x01"


@dataclass
class Ends:
    """Both ends of one link through the proxy."""

    proxy: Proxy
    client: asyncio.StreamReader
    client_out: asyncio.StreamWriter
    broker: asyncio.StreamReader
    broker_out: asyncio.StreamWriter


@asynccontextmanager
async def linked(folder: Path) -> AsyncIterator[Ends]:
    arrived: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    server = await asyncio.start_server(
        lambda reader, writer: arrived.put_nowait((reader, writer)), "127.0.0.1", 0
    )
    proxy = Proxy(server.sockets[0].getsockname(), FactsFile(folder / "facts"))
    await proxy.start()
    port = urlsplit(proxy.url).port
    assert port is not None
    client, client_out = await asyncio.open_connection("127.0.0.1", port)
    broker, broker_out = await arrived.get()
    client_out.write(HELLO)
    assert await broker.readexactly(len(HELLO)) == HELLO
    try:
        yield Ends(proxy, client, client_out, broker, broker_out)
    finally:
        for writer in (client_out, broker_out):
            writer.close()
        await proxy.stop()
        server.close()


async def ended(reader: asyncio.StreamReader) -> bool:
    """True when the stream ends, by a close or a reset, with nothing before it."""
    try:
        async with asyncio.timeout(WAIT_S):
            return await reader.read(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.anyio
async def test_octets_pass_both_ways(tmp_path: Path) -> None:
    async with linked(tmp_path) as ends:
        ends.client_out.write(b"abc")
        ends.broker_out.write(b"xyz")
        assert await ends.broker.readexactly(3) == b"abc"
        assert await ends.client.readexactly(3) == b"xyz"


@pytest.mark.anyio
async def test_a_cut_ends_both_sides(tmp_path: Path) -> None:
    async with linked(tmp_path) as ends:
        ends.proxy.cut()
        assert await ended(ends.client)
        assert await ended(ends.broker)


@pytest.mark.anyio
async def test_half_closed_to_the_client_still_takes_what_it_writes(tmp_path: Path) -> None:
    async with linked(tmp_path) as ends:
        (link,) = ends.proxy.links
        link.to_client.shut()
        assert await ended(ends.client)
        ends.broker_out.write(b"lost")
        ends.client_out.write(b"abc")
        assert await ends.broker.readexactly(3) == b"abc"


@pytest.mark.anyio
async def test_half_closed_to_the_broker_still_passes_what_it_writes(tmp_path: Path) -> None:
    async with linked(tmp_path) as ends:
        (link,) = ends.proxy.links
        link.to_broker.shut()
        assert await ended(ends.broker)
        ends.client_out.write(b"lost")
        ends.broker_out.write(b"xyz")
        assert await ends.client.readexactly(3) == b"xyz"


@pytest.mark.anyio
async def test_what_is_held_passes_after_the_release(tmp_path: Path) -> None:
    async with linked(tmp_path) as ends:
        (link,) = ends.proxy.links
        link.to_client.hold()
        ends.broker_out.write(b"xyz")
        ends.client_out.write(b"abc")
        assert await ends.broker.readexactly(3) == b"abc"  # the other way is open
        reading = asyncio.create_task(ends.client.readexactly(3))
        await asyncio.sleep(0)
        assert not reading.done()
        link.to_client.release()
        assert await reading == b"xyz"


@pytest.mark.anyio
async def test_a_trickling_link_loses_nothing(tmp_path: Path) -> None:
    async with linked(tmp_path) as ends:
        (link,) = ends.proxy.links
        link.to_broker.trickle()
        ends.client_out.write(bytes(range(100)))
        assert await ends.broker.readexactly(50) == bytes(range(50))
        link.to_broker.release()
        assert await ends.broker.readexactly(50) == bytes(range(50, 100))


@pytest.mark.anyio
async def test_the_end_of_one_side_is_the_end_of_the_other_and_of_the_link(tmp_path: Path) -> None:
    async with linked(tmp_path) as ends:
        ends.client_out.close()
        assert await ended(ends.broker)
        ends.broker_out.close()
        async with asyncio.timeout(WAIT_S):
            await ends.proxy.without_links.wait()
        assert ends.proxy.links == []


@pytest.mark.anyio
async def test_new_connections_are_refused_until_they_are_not(tmp_path: Path) -> None:
    async with linked(tmp_path) as ends:
        port = urlsplit(ends.proxy.url).port
        assert port is not None
        ends.proxy.refuse()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await ended(reader)
        writer.close()
        ends.proxy.accept()
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        ends.client_out.write(b"abc")
        assert await ends.broker.readexactly(3) == b"abc"  # the link from before goes on
