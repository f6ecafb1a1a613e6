"""A broker whose descriptors are all in sockets: it refuses more, publishes, and answers whoever
looks after it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import aio_pika
import httpx
import pytest

from mqkit.wire import PROTOCOL_HEADER
from reference_broker.core.connection.open_handshakes import OpenHandshakes
from reference_broker.runtime import server as server_module
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.process.descriptors import SocketBound
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

FREE = Address("127.0.0.1", 0)
LIMIT = 320
"""Above what the tests' own process has open."""


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setattr(server_module, "descriptor_limit", lambda: LIMIT)
    server = Server(ServerConfig(amqp=FREE, http=FREE, data_dir=tmp_path / "data"))
    await server.start()
    yield server
    await server.stop()


async def _is_greeted(port: int, opened: AsyncExitStack) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(PROTOCOL_HEADER)
    try:
        greeting = await asyncio.wait_for(reader.read(1), 10)
    except ConnectionResetError:
        greeting = b""
    if greeting:
        opened.callback(writer.close)
    else:
        writer.close()
    return bool(greeting)


async def test_sockets_end_before_descriptors_do(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    most = SocketBound(LIMIT).sockets_end
    assert server.broker.limits.connections_max == most
    assert server.broker.limits.handshakes_per_address_max == most // 4
    client = await aio_pika.connect(f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/")
    channel = await client.channel()
    queue = await channel.declare_queue("q", durable=True)
    server.broker.handshakes = OpenHandshakes(LIMIT)  # they are all of this address
    async with AsyncExitStack() as opened:
        count = 0
        while await _is_greeted(server.amqp_port, opened):
            count += 1
            assert count < LIMIT
        assert caplog.text.count("file descriptors are in use") == 1
        message = aio_pika.Message(b"x", delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await channel.default_exchange.publish(message, queue.name)
        url = f"http://127.0.0.1:{server.http_port}/api/overview"
        async with httpx.AsyncClient(trust_env=False, auth=("guest", "guest")) as http:
            assert (await http.get(url)).status_code == 200
    await client.close()
