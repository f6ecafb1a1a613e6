"""The HTTP server itself: a port, a clean end, and bounds on what strangers send."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from reference_broker.http.serving import open_sockets
from reference_broker.http.serving.request_head import HEAD_BYTES_MAX
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.net.http_listener import HttpListener
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("hello")(scope, receive, send)


async def exchange(port: int, data: bytes) -> bytes:
    """Send bytes, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()


async def test_a_free_port_and_an_end() -> None:
    before = signal.getsignal(signal.SIGTERM)
    served = HttpListener(hello)
    await served.start("127.0.0.1", 0)
    assert served.port > 0
    assert signal.getsignal(signal.SIGTERM) is before
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"http://127.0.0.1:{served.port}/")).text == "hello"
    await served.stop()
    await served.stop()
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", served.port)


async def test_a_stop_without_a_start() -> None:
    await HttpListener(hello).stop()


async def test_an_idle_connection_does_not_hold_up_the_end() -> None:
    served = HttpListener(hello)
    await served.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    await asyncio.wait_for(served.stop(), 10)
    assert await reader.read() == b""
    writer.close()


async def test_a_port_that_is_taken_leaves_nothing_running(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address("127.0.0.1", taken.getsockname()[1])
        free = Address("127.0.0.1", 0)
        server = Server(ServerConfig(amqp=free, http=address, data_dir=tmp_path / "data"))
        with pytest.raises(OSError):
            await server.start()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", server.amqp_port)
    again = Server(ServerConfig(amqp=free, http=None, data_dir=tmp_path / "data"))
    await again.start()
    assert again.http_port is None
    await again.stop()


async def test_garbage_ends_that_connection_only() -> None:
    served = HttpListener(hello)
    await served.start("127.0.0.1", 0)
    try:
        assert (await exchange(served.port, b"AMQP\x00\x00\x09\x01\r\n\r\n")).startswith(
            b"HTTP/1.1 400"
        )
        wish = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        assert (await exchange(served.port, wish)).endswith(b"hello")
    finally:
        await served.stop()


async def test_headers_without_an_end() -> None:
    served = HttpListener(hello)
    await served.start("127.0.0.1", 0)
    try:
        endless = b"GET / HTTP/1.1\r\nx: " + b"y" * (HEAD_BYTES_MAX + 1)
        assert (await exchange(served.port, endless)).startswith(b"HTTP/1.1 431")
    finally:
        await served.stop()


async def test_sockets_that_say_nothing_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sockets, "SOCKETS_PER_ADDRESS_MAX", 4)
    served = HttpListener(hello)
    await served.start("127.0.0.1", 0)
    idle = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(12)]
    try:
        for _, writer in idle:
            writer.write(b"GET / HTTP/1.1\r\nhost: loc")
        wish = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        assert (await exchange(served.port, wish)).endswith(b"hello")
        closed = [await asyncio.wait_for(_ended(reader), 10) for reader, _ in idle[:9]]
        assert closed == [True] * 9
    finally:
        for _, writer in idle:
            writer.transport.abort()
        await served.stop()


async def _ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]:15672", "192.0.2.7:80"])
async def test_a_listener_on_loopback_is_asked_by_its_own_name(host: str) -> None:
    served = HttpListener(hello)
    await served.start("127.0.0.1", 0)
    wish = f"GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode()
    foreign = b"GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
    try:
        assert (await exchange(served.port, wish)).endswith(b"hello")
        assert (await exchange(served.port, foreign)).startswith(b"HTTP/1.1 403")
    finally:
        await served.stop()


async def test_a_listener_on_all_addresses_has_any_name() -> None:
    served = HttpListener(hello)
    await served.start("0.0.0.0", 0)
    wish = b"GET / HTTP/1.1\r\nhost: mq.example\r\nconnection: close\r\n\r\n"
    try:
        assert (await exchange(served.port, wish)).endswith(b"hello")
    finally:
        await served.stop()
