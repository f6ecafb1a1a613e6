"""Attempts to connect that nobody answers, told from those that a peer answered, by all adapters
in the same terms: peers that do as told."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mqkit.errors import MqkitError, Unanswered
from mqkit.testing.certificates import Authority
from mqkit.transport.seam import Transport
from mqkit.url import parse
from mqkit.wire import method_frame, methods

pytestmark = pytest.mark.anyio

WAIT_S = 10.0
START = method_frame(0, methods.ConnectionStart(mechanisms=b"PLAIN", locales=b"en_US"))

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def speak_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Name the logins, and be gone at the first."""
    await reader.readexactly(8)
    writer.write(START)
    await reader.read(1)
    writer.close()


@asynccontextmanager
async def serving(peer: Peer, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server that is ``peer``."""
    async with await asyncio.start_server(peer, "127.0.0.1", 0, ssl=tls) as server:
        yield server.sockets[0].getsockname()[1]


async def failure(transport: Transport, url: str) -> MqkitError:
    with pytest.raises(MqkitError) as raised:
        await transport.connect(parse(url), name="t", timeout_s=WAIT_S)
    return raised.value


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def tls(authority: Authority) -> ssl.SSLContext:
    files = authority.issue("server", "127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.certificate, files.key)
    return context


async def test_a_port_where_nobody_listens_is_unanswered(transport: Transport) -> None:
    async with serving(close) as port:
        pass
    assert type(await failure(transport, f"amqp://127.0.0.1:{port}/")) is Unanswered


@pytest.mark.parametrize("peer", [reset, close], ids=["reset", "close"])
async def test_a_proxy_whose_broker_is_away_is_unanswered(transport: Transport, peer: Peer) -> None:
    async with serving(peer) as port:
        assert type(await failure(transport, f"amqp://127.0.0.1:{port}/")) is Unanswered


@pytest.mark.parametrize("peer", [reset, close], ids=["reset", "close"])
async def test_so_it_is_where_the_broker_would_speak_tls(
    transport: Transport, peer: Peer, authority: Authority
) -> None:
    async with serving(peer) as port:
        url = f"amqps://127.0.0.1:{port}/?cacertfile={authority.path}"
        assert type(await failure(transport, url)) is Unanswered


async def test_so_it_is_where_the_proxy_speaks_tls_itself(
    transport: Transport, authority: Authority, tls: ssl.SSLContext
) -> None:
    async with serving(close, tls) as port:
        url = f"amqps://127.0.0.1:{port}/?cacertfile={authority.path}"
        assert type(await failure(transport, url)) is Unanswered


async def test_a_broker_that_goes_while_opening_has_answered(transport: Transport) -> None:
    async with serving(begin) as port:
        assert not isinstance(await failure(transport, f"amqp://127.0.0.1:{port}/"), Unanswered)


async def test_another_protocol_is_an_answer(
    transport: Transport, request: pytest.FixtureRequest
) -> None:
    if "[pika" in request.node.name:
        pytest.skip("pika says the same of whoever closes before a frame")
    async with serving(speak_http) as port:
        assert not isinstance(await failure(transport, f"amqp://127.0.0.1:{port}/"), Unanswered)


async def test_a_certificate_that_is_not_trusted_is_an_answer(
    transport: Transport, tls: ssl.SSLContext, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger")
    async with serving(close, tls) as port:
        url = f"amqps://127.0.0.1:{port}/?cacertfile={stranger.path}"
        problem = await failure(transport, url)
    assert not isinstance(problem, Unanswered)
    assert "certificate" in str(problem).lower()


async def test_a_client_certificate_that_the_broker_wants_is_an_answer(
    transport: Transport, authority: Authority
) -> None:
    files = authority.issue("strict", "127.0.0.1")
    strict = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.path))
    strict.load_cert_chain(files.certificate, files.key)
    strict.verify_mode = ssl.CERT_REQUIRED

    def refuse(listener: socket.socket) -> None:
        """As OpenSSL does it, with an alert; asyncio's server goes without a word."""
        accepted, _ = listener.accept()
        with strict.wrap_socket(
            accepted, server_side=True, do_handshake_on_connect=False
        ) as shaking:
            with pytest.raises(ssl.SSLError):
                shaking.do_handshake()
            # What is unread at a close resets the connection, and the alert may be lost.
            shaking.shutdown(socket.SHUT_WR)
            while os.read(shaking.fileno(), 4096):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = asyncio.create_task(asyncio.to_thread(refuse, listener))
        url = f"amqps://127.0.0.1:{listener.getsockname()[1]}/?cacertfile={authority.path}"
        assert not isinstance(await failure(transport, url), Unanswered)
        await refusing
