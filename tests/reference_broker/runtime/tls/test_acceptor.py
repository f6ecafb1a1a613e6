"""The TLS listener on a real socket: who gets in, who doesn't, and what the log says of it."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import aio_pika
import pytest
import uvloop

from mqkit.testing.certificates import Authority, CertificateFiles
from mqkit.wire import PROTOCOL_HEADER, FrameParser, decode_method
from mqkit.wire.methods import ConnectionStart
from reference_broker.core.base.limits import Limits
from reference_broker.core.base.peer import Peer
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server
from reference_broker.runtime.tls import acceptor, paced_handshake
from reference_broker.runtime.tls import client as tls_client
from reference_broker.runtime.tls.certificate_clock import utc_now
from reference_broker.runtime.tls.config import TlsConfig, Verify

FREE = Address("127.0.0.1", 0)
WAIT_S = 10

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
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def tls(authority: Authority) -> TlsConfig:
    files = authority.issue("server", "localhost", "127.0.0.1")
    return TlsConfig(files.certificate, files.key, authority.path, amqp=FREE)


async def serve(tls: TlsConfig) -> Server:
    server = Server(ServerConfig(amqp=FREE, http=None, tls=tls))
    await server.start()
    return server


@pytest.fixture
async def server(anyio_backend: object, tls: TlsConfig) -> AsyncIterator[Server]:
    server = await serve(tls)
    yield server
    await server.stop()


def port_of(server: Server) -> int:
    assert server.tls is not None
    assert server.tls.amqp_port is not None
    return server.tls.amqp_port


def client_context(authority: Authority, files: CertificateFiles | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.path)
    if files is not None:
        context.load_cert_chain(files.certificate, files.key)
    return context


async def greeted(port: int, context: ssl.SSLContext) -> ConnectionStart:
    """The broker's first method to a client that speaks TLS."""
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
    try:
        writer.write(PROTOCOL_HEADER)
        parser = FrameParser()
        while True:
            data = await asyncio.wait_for(reader.read(4096), WAIT_S)
            assert data, "the broker closed the connection"
            parser.receive_data(data)
            frame = parser.next_frame()
            if frame is not None:
                method = decode_method(frame.payload)
                assert isinstance(method, ConnectionStart)
                return method
    finally:
        writer.transport.abort()


async def answer_to(port: int, data: bytes) -> bytes:
    """All that comes back to octets without TLS, until the broker closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), WAIT_S)
    except ConnectionResetError:
        return b""
    finally:
        writer.transport.abort()


async def test_a_client_with_tls_is_greeted(server: Server, authority: Authority) -> None:
    start = await greeted(port_of(server), client_context(authority))
    assert start.mechanisms == b"AMQPLAIN PLAIN"


async def test_the_plain_port_is_there_as_well(server: Server) -> None:
    assert (await answer_to(server.amqp_port, b"AMQP\x01\x01\x08\x00")) == PROTOCOL_HEADER


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (PROTOCOL_HEADER, "it does not speak TLS"),
        (b"GET / HTTP/1.1\r\n\r\n", "it speaks HTTP without TLS"),
    ],
)
async def test_a_client_without_tls_on_the_tls_port(
    server: Server, data: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    await answer_to(port_of(server), data)
    assert f"refused by AMQP over TLS: {reason}" in caplog.text


async def test_a_client_with_tls_on_the_plain_port(
    server: Server, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(ssl.SSLError):
        await greeted(server.amqp_port, client_context(authority))
    await answer_to(server.amqp_port, b"AMQP\x01\x01\x08\x00")  # its end has been handled by now
    assert "the client speaks TLS, and this port is the one without it" in caplog.text


async def test_a_client_that_leaves_in_the_handshake(
    server: Server, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
    writer.close()
    await greeted(port_of(server), client_context(authority))  # which the end came before
    assert "closed the connection in the middle of the TLS handshake" in caplog.text


async def test_a_handshake_has_a_time_limit(
    tls: TlsConfig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (acceptor, paced_handshake):
        monkeypatch.setattr(module, "TLS_HANDSHAKE_S", 0.05)
    server = await serve(tls)
    try:
        assert await answer_to(port_of(server), b"\x16\x03\x01") == b""
    finally:
        await server.stop()
    assert "its TLS handshake took longer than 0.05 s" in caplog.text


async def test_too_many_handshakes(
    tls: TlsConfig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(acceptor, "HANDSHAKES_MAX", 1)
    server = await serve(tls)
    _, first = await asyncio.open_connection("127.0.0.1", port_of(server))
    try:
        assert await answer_to(port_of(server), b"") == b""
        assert "too many TLS handshakes: a client is refused" in caplog.text
    finally:
        first.transport.abort()
        await server.stop()


async def test_an_address_has_a_part_of_the_handshakes(
    tls: TlsConfig,
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert acceptor.HANDSHAKES_PER_ADDRESS_MAX < acceptor.HANDSHAKES_MAX
    monkeypatch.setattr(acceptor, "HANDSHAKES_PER_ADDRESS_MAX", 1)
    server = await serve(tls)
    _, first = await asyncio.open_connection("127.0.0.1", port_of(server))
    try:
        assert await answer_to(port_of(server), b"") == b""
        assert "too many of its handshakes are under way" in caplog.text
        _, elsewhere = await asyncio.open_connection(
            "127.0.0.1",
            port_of(server),
            ssl=client_context(authority),
            server_hostname="localhost",
            local_addr=("127.0.0.2", 0),
        )
        elsewhere.transport.abort()
    finally:
        first.transport.abort()
        await server.stop()


async def test_an_address_can_not_take_every_place(
    tls: TlsConfig, caplog: pytest.LogCaptureFixture
) -> None:
    """Sockets in a TLS handshake and those that log in are counted together."""
    server = Server(ServerConfig(FREE, None, tls=tls, limits=Limits(handshakes_per_address_max=1)))
    await server.start()
    _, first = await asyncio.open_connection("127.0.0.1", port_of(server))
    try:
        for _ in range(3):
            assert await answer_to(port_of(server), b"") == b""
        refusals = [each for each in caplog.messages if "too many of its handshakes" in each]
        assert len(refusals) == 1  # of three: a line a second
        assert await answer_to(server.amqp_port, PROTOCOL_HEADER) == b""
        assert "1 handshakes of 127.0.0.1 are under way" in caplog.text
    finally:
        first.transport.abort()
        await server.stop()
    assert server.broker.handshakes.count(Peer("127.0.0.1", 1, "127.0.0.1", 2)) == 0


async def test_one_place_is_enough_for_tls_and_the_login(
    tls: TlsConfig, authority: Authority
) -> None:
    server = Server(ServerConfig(FREE, None, tls=tls, limits=Limits(handshakes_per_address_max=1)))
    await server.start()
    url = f"amqps://localhost:{port_of(server)}/?cafile={authority.path}"
    try:
        for _ in range(3):
            connection = await aio_pika.connect(url)
            await connection.close()
    finally:
        await server.stop()


async def test_a_stop_gives_up_handshakes(tls: TlsConfig) -> None:
    server = await serve(tls)
    answer = asyncio.create_task(answer_to(port_of(server), b"\x16\x03\x01"))
    await answer_to(server.amqp_port, b"\x16\x03\x01")  # which has been accepted after it
    await asyncio.wait_for(server.stop(), WAIT_S)
    assert await answer == b""


def answer_over_https(
    port: int, context: ssl.SSLContext, session: ssl.SSLSession | None
) -> tuple[bool | None, bytes, ssl.SSLSession | None]:
    """True if the session was resumed, the answer, and the session."""
    with (
        socket.create_connection(("127.0.0.1", port), WAIT_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost", session=session) as secured,
    ):
        resumed, began = secured.session_reused, secured.session
        try:
            secured.sendall(b"GET /api/overview HTTP/1.1\r\nhost: localhost\r\n\r\n")
            answer = secured.recv(4096)
            secured.unwrap()  # a session that ends otherwise is not resumed
        except OSError:
            answer = b""
        return resumed, answer, began


class TestVerification:
    @pytest.fixture
    def tls(self, tls: TlsConfig) -> TlsConfig:
        return replace(tls, verify=Verify.REQUIRED)

    async def test_a_verified_client_gets_in(self, server: Server, authority: Authority) -> None:
        context = client_context(authority, authority.issue("ann", common_name="ann"))
        assert (await greeted(port_of(server), context)).version_major == 0

    async def test_a_certificate_that_has_expired_since_its_session_began(
        self,
        server: Server,
        authority: Authority,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        later = utc_now() + timedelta(days=9_000)
        monkeypatch.setattr(tls_client, "utc_now", lambda: later)
        context = client_context(authority, authority.issue("ann", common_name="ann"))
        with pytest.raises((OSError, AssertionError)):
            await greeted(port_of(server), context)
        assert "has expired since its session began" in caplog.text

    async def test_a_session_of_https_does_not_outlive_the_certificate_that_began_it(
        self,
        tls: TlsConfig,
        authority: Authority,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        server = await serve(replace(tls, https=FREE, https_verify=Verify.REQUIRED))
        assert server.tls is not None
        assert server.tls.https_port is not None
        context = client_context(authority, authority.issue("ann", common_name="ann"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2  # 1.3 resumes by tickets only
        try:
            port = server.tls.https_port
            resumed, answer, session = await asyncio.to_thread(
                answer_over_https, port, context, None
            )
            assert (resumed, answer[:12]) == (False, b"HTTP/1.1 401")
            resumed, answer, session = await asyncio.to_thread(
                answer_over_https, port, context, session
            )
            assert (resumed, answer[:12]) == (True, b"HTTP/1.1 401")
            later = utc_now() + timedelta(days=9_000)
            monkeypatch.setattr(tls_client, "utc_now", lambda: later)
            resumed, answer, _ = await asyncio.to_thread(answer_over_https, port, context, session)
            assert (resumed, answer) == (True, b"")
            assert "refused by HTTPS: the client's certificate has expired since" in caplog.text
        finally:
            await server.stop()

    async def test_no_certificate(
        self, server: Server, authority: Authority, caplog: pytest.LogCaptureFixture
    ) -> None:
        with pytest.raises((OSError, AssertionError)):
            await greeted(port_of(server), client_context(authority))
        assert "it has shown no certificate, and has to" in caplog.text

    async def test_a_certificate_of_another_authority(
        self,
        server: Server,
        authority: Authority,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        stranger = Authority(tmp_path, "stranger").issue("eve", common_name="ann")
        with pytest.raises((OSError, AssertionError)):
            await greeted(port_of(server), client_context(authority, stranger))
        assert "its certificate is not accepted: " in caplog.text


async def test_a_renewed_certificate_is_used_by_the_next_client(
    server: Server, authority: Authority
) -> None:
    def serial_number() -> object:
        context = client_context(authority)
        with (
            socket.create_connection(("127.0.0.1", port_of(server)), WAIT_S) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secured,
        ):
            found = secured.getpeercert()
        assert found is not None
        return found["serialNumber"]

    before = await asyncio.to_thread(serial_number)
    assert await asyncio.to_thread(serial_number) == before
    authority.issue("server", "localhost", "127.0.0.1")
    assert await asyncio.to_thread(serial_number) != before


async def test_large_messages_both_ways(server: Server, authority: Authority) -> None:

    body = bytes(range(256)) * 32_768
    connection = await aio_pika.connect(
        f"amqps://guest:guest@localhost:{port_of(server)}/", ssl_context=client_context(authority)
    )
    async with connection, asyncio.timeout(60):
        channel = await connection.channel()
        queue = await channel.declare_queue("q")
        for _ in range(2):
            await channel.default_exchange.publish(aio_pika.Message(body), "q")
        assert [(await queue.get(no_ack=True)).body == body for _ in range(2)] == [True, True]


async def test_a_drain_closes_this_port_too_and_a_revival_needs_both(
    server: Server, authority: Authority
) -> None:
    context, port = client_context(authority), port_of(server)
    await server.drain()
    with pytest.raises(ConnectionRefusedError):
        await greeted(port, context)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(OSError, match="in use"):
        await server.revive()
    assert server.node().draining
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.amqp_port)
    await server.revive()
    assert await greeted(port_of(server), context)
    assert port_of(server) == port
