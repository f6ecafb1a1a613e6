"""A broker behind a proxy that sends PROXY headers, over sockets, with TLS and without it."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aio_pika
import httpx
import pytest
import uvloop
from aiormq.exceptions import AMQPConnectionError

from mqkit.testing.certificates import Authority
from mqkit.wire import PROTOCOL_HEADER
from reference_broker.core.base.limits import Limits
from reference_broker.core.base.peer import Ends
from reference_broker.runtime.config import GUEST, Address, ServerConfig, UserConfig
from reference_broker.runtime.net.proxy_sources import ProxySources
from reference_broker.runtime.server import Server
from reference_broker.runtime.tls.config import TlsConfig
from reference_broker.testing.proxy_header import health_check, relayed, tlv

FREE = Address("127.0.0.1", 0)
WAIT_S = 10
APP = UserConfig("app", "secret", ("administrator",))
CLIENT = Ends("198.51.100.7", 40_000, "203.0.113.1", 5672)
OTHER = CLIENT._replace(host="198.51.100.8")
LOOPBACK = Ends("127.0.0.1", 40_000, "127.0.0.1", 5672)
NAME = "198.51.100.7:40000 -> 203.0.113.1:5672"
HERE, ELSEWHERE = "127.0.0.0/8", "10.0.0.0/8"

pytestmark = pytest.mark.anyio


@pytest.fixture(
    params=[
        pytest.param(("asyncio", {"loop_factory": asyncio.new_event_loop}), id="asyncio"),
        pytest.param(("asyncio", {"loop_factory": uvloop.new_event_loop}), id="uvloop"),
    ]
)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return request.param


@pytest.fixture
def tls(tmp_path: Path) -> TlsConfig:
    authority = Authority(tmp_path)
    files = authority.issue("server", "127.0.0.1")
    return TlsConfig(files.certificate, files.key, authority.path, amqp=FREE)


@asynccontextmanager
async def serving(
    tls: TlsConfig | None = None, proxies: str = HERE, **limits: int
) -> AsyncIterator[Server]:
    server = Server(
        ServerConfig(
            amqp=FREE,
            http=FREE,
            users=(GUEST, APP),
            limits=Limits(**limits),
            tls=tls,
            proxies=ProxySources.parse([proxies]),
        )
    )
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def proxied(port: int, segments: Sequence[bytes]) -> AsyncIterator[int]:
    """The port of a proxy before ``port``, which sends ``segments`` first."""
    pipes: set[asyncio.Task[None]] = set()

    async def serve(client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for octets in segments:
            writer.write(octets)
            await writer.drain()
        for pipe in (_pipe(client, writer), _pipe(reader, answers)):
            task = asyncio.get_running_loop().create_task(pipe)
            pipes.add(task)
            task.add_done_callback(pipes.discard)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for pipe in list(pipes):
            pipe.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


class Through:
    """Logs in through a proxy: plain, or over TLS."""

    def __init__(self, server: Server, tls: TlsConfig | None) -> None:
        self._server = server
        self._context: ssl.SSLContext | None = None
        self.port = server.amqp_port
        if tls is not None:
            assert server.tls is not None
            assert server.tls.amqp_port is not None
            self.port = server.tls.amqp_port
            self._context = ssl.create_default_context(cafile=tls.authority)

    @asynccontextmanager
    async def login(
        self, user: str, password: str, segments: Sequence[bytes]
    ) -> AsyncIterator[aio_pika.abc.AbstractConnection]:
        async with proxied(self.port, segments) as port:
            connection = await aio_pika.connect(
                host="127.0.0.1",
                port=port,
                login=user,
                password=password,
                ssl=self._context is not None,
                ssl_context=self._context,
                timeout=WAIT_S,
            )
            try:
                yield connection
            finally:
                await connection.close()

    async def names(self) -> list[tuple[object, ...]]:
        """Name, peer and own ends of each connection, as the management API has them."""
        keys = ("name", "peer_host", "peer_port", "host", "port")
        url = f"http://127.0.0.1:{self._server.http_port}/api"
        async with httpx.AsyncClient(base_url=url, auth=("app", "secret"), trust_env=False) as api:
            rows = (await api.get("/connections")).json()
            [channel] = (await api.get("/channels")).json()
        details = channel["connection_details"]
        assert (details["name"], details["peer_host"]) == (rows[0]["name"], rows[0]["peer_host"])
        return [tuple(row[key] for key in keys) for row in rows]


@pytest.fixture(params=["plain", "tls"])
async def through(
    request: pytest.FixtureRequest, anyio_backend: object, tls: TlsConfig
) -> AsyncIterator[Through]:
    wanted = tls if request.param == "tls" else None
    async with serving(wanted) as server:
        yield Through(server, wanted)


def octets_of(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@pytest.mark.parametrize(
    "segments",
    [
        pytest.param([relayed(CLIENT)], id="whole"),
        pytest.param(octets_of(relayed(CLIENT)), id="octets"),
        pytest.param([relayed(CLIENT, tlv(4, bytes(2_000)), checksum=True)], id="long"),
    ],
)
async def test_a_client_is_shown_with_the_addresses_that_are_claimed(
    through: Through, segments: list[bytes]
) -> None:
    async with through.login("app", "secret", segments) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("q", exclusive=True)
        assert await channel.default_exchange.publish(aio_pika.Message(bytes(300_000)), "q")
        message = await queue.get()
        assert len(message.body) == 300_000
        assert await through.names() == [(NAME, "198.51.100.7", 40_000, "203.0.113.1", 5672)]


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(relayed(LOOPBACK), id="claims loopback"),
        pytest.param(relayed(CLIENT), id="claims another address"),
        pytest.param(health_check(), id="claims nothing"),
    ],
)
async def test_guest_is_refused_through_a_proxy_on_loopback(
    through: Through, header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(AMQPConnectionError, match="ACCESS_REFUSED"):
        async with through.login("guest", "guest", [header]):
            pass
    assert "may come from this machine only, and through no proxy" in caplog.text


async def test_who_claims_nothing_has_the_socket_s_addresses(through: Through) -> None:
    async with through.login("app", "secret", [health_check()]) as connection:
        await connection.channel()
        [(_, peer_host, _, host, port)] = await through.names()
        assert (peer_host, host, port) == ("127.0.0.1", "127.0.0.1", through.port)


async def answer_to(port: int, data: bytes) -> bytes:
    """All that comes back, until the broker closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), WAIT_S)
    except ConnectionResetError:
        return b""
    finally:
        writer.transport.abort()


async def test_a_listed_proxy_has_to_send_a_header(
    through: Through, caplog: pytest.LogCaptureFixture
) -> None:
    assert await answer_to(through.port, PROTOCOL_HEADER) == b""
    [line] = [record.getMessage() for record in caplog.records]
    assert "sends no PROXY header, but speaks AMQP: proxies of --proxy-from have to" in line


async def test_who_is_not_listed_speaks_amqp_and_sends_no_header(
    anyio_backend: object, tls: TlsConfig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with serving(tls, ELSEWHERE) as server:
        port = server.amqp_port
        connection = await aio_pika.connect(host="127.0.0.1", port=port, timeout=WAIT_S)
        await connection.close()
        assert await answer_to(port, relayed(CLIENT) + PROTOCOL_HEADER) == PROTOCOL_HEADER
        text = "the client sends a PROXY header, and is no proxy of --proxy-from"
        assert len([each for each in caplog.messages if text in each]) == 1
        await answer_to(Through(server, tls).port, relayed(CLIENT) + PROTOCOL_HEADER)
        text = "refused by AMQP over TLS: it does not speak TLS"
        assert len([each for each in caplog.messages if text in each]) == 1


async def test_open_handshakes_are_counted_by_the_claimed_address(
    anyio_backend: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(handshakes_per_address_max=2) as server, AsyncExitStack() as opened:
        streams = []  # asyncio closes a stream that nobody holds
        for ends in (CLIENT, CLIENT, OTHER):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.amqp_port)
            streams.append((reader, writer))
            opened.callback(writer.transport.abort)
            writer.write(relayed(ends) + PROTOCOL_HEADER)
            assert await asyncio.wait_for(reader.read(1), WAIT_S)  # the start
        assert await answer_to(server.amqp_port, relayed(CLIENT) + PROTOCOL_HEADER) == b""
    assert "2 handshakes of 198.51.100.7 are under way" in caplog.text


async def test_a_header_that_stays_half_is_no_connection(through: Through) -> None:
    for header in (relayed(CLIENT)[:-1], b"\r\n", b""):
        reader, writer = await asyncio.open_connection("127.0.0.1", through.port)
        writer.write(header)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), WAIT_S) == b""
        writer.transport.abort()
    async with through.login("app", "secret", [relayed(CLIENT)]) as connection:
        await connection.channel()
        assert len(await through.names()) == 1


async def test_a_pause_closes_those_that_have_sent_no_header(through: Through) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", through.port)
    writer.write(relayed(CLIENT)[:20])
    server = through._server
    await server.pause()
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await asyncio.wait_for(reader.readexactly(1), WAIT_S)
    writer.transport.abort()
    await server.resume()
    async with through.login("app", "secret", [relayed(CLIENT)]):
        pass
