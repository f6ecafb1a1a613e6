"""paced_handshake: one step of a handshake a turn, however many clients send theirs at once."""

from __future__ import annotations

import asyncio
import socket
import ssl
from itertools import pairwise
from pathlib import Path

import pytest
import uvloop

from mqkit.testing.certificates import Authority
from reference_broker.http import TurnShare
from reference_broker.runtime.tls import paced_handshake
from reference_broker.runtime.tls.paced_handshake import TlsGate, shake_hands

pytestmark = pytest.mark.anyio


@pytest.fixture(
    params=[
        pytest.param(("asyncio", {"loop_factory": asyncio.new_event_loop}), id="asyncio"),
        pytest.param(("asyncio", {"loop_factory": uvloop.new_event_loop}), id="uvloop"),
    ]
)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return request.param


class Tls(asyncio.BufferedProtocol):
    """Stands for the loop's TLS protocol: notes the turn of each octet."""

    def __init__(self, turns: list[int]) -> None:
        self.turns = turns
        self.data = bytearray()
        self.lost = False
        self.buffer = bytearray(64)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data += self.buffer[:nbytes]
        self.turns.append(0)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


class Transport(asyncio.Transport):
    def __init__(self, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.reads = True
        self.closing = False

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def is_reading(self) -> bool:
        return self.reads

    def is_closing(self) -> bool:
        return self.closing


class Inside(asyncio.Protocol):
    def __init__(self) -> None:
        self.is_trusted = False
        self.received = b""
        self.transport: asyncio.BaseTransport | None = None
        self.complete = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        transport.write(b"welcome")

    def data_received(self, data: bytes) -> None:
        self.received += data
        if len(self.received) == 100_005:
            self.complete.set()


async def test_one_socket_a_turn() -> None:
    share, steps = TurnShare(), list[int]()
    tls = [Tls(steps) for _ in range(20)]
    gates = [TlsGate(Transport(each), share, f"10.0.0.{n % 3}") for n, each in enumerate(tls)]
    for gate in gates:
        gate.data_received(b"hello")
    seen = [0]
    for _ in range(40):
        await asyncio.sleep(0)
        assert len(steps) - seen[-1] <= 1
        seen.append(len(steps))
    assert all(each.data == b"hello" for each in tls)


async def test_nothing_is_read_while_octets_wait_and_nothing_is_lost() -> None:
    share = TurnShare()
    tls = Tls([])
    transport = Transport(tls)
    gate = TlsGate(transport, share, "10.0.0.1")
    assert transport.protocol is gate
    gate.data_received(b"a" * 1_000)
    gate.data_received(b"b")
    assert not transport.reads
    for _ in range(4):
        await asyncio.sleep(0)
    assert tls.data == b"a" * 1_000 + b"b"
    assert transport.reads
    inside = Inside()
    gate.stands(transport, inside)
    gate.data_received(b"c")
    assert not tls.data.endswith(b"c")
    inside.is_trusted = True
    gate.data_received(b"d")
    assert transport.protocol is tls
    assert tls.data.endswith(b"bcd")
    assert transport.reads


async def test_records_go_in_portions_until_the_client_is_trusted() -> None:
    share, steps = TurnShare(), list[int]()
    tls = Tls(steps)
    tls.buffer = bytearray(1 << 18)
    transport = Transport(tls)
    gate = TlsGate(transport, share, "10.0.0.1")
    inside = Inside()
    gate.stands(transport, inside)
    records = (b"\x17\x03\x03\x00\x16" + bytes(22)) * 2_000
    gate.data_received(records)
    sizes = [0]
    while len(tls.data) < len(records):
        await share.turn("10.0.0.2")
        sizes.append(len(tls.data))
        transport.reads = True  # TLS may do that
    assert max(after - before for before, after in pairwise(sizes)) <= 2_048
    assert tls.data == records


async def test_nothing_is_handed_on_while_the_protocol_inside_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paced_handshake, "UNREAD_LOOK_S", 0)
    tls = Tls([])
    transport, encrypted = Transport(tls), Transport(tls)
    share = TurnShare()
    gate = TlsGate(transport, share, "10.0.0.1")
    gate.stands(encrypted, Inside())
    encrypted.reads = False
    gate.data_received(b"hello")
    for _ in range(10):
        await share.turn()
    assert tls.data == b""
    encrypted.reads = True
    for _ in range(10):
        await share.turn()
    assert tls.data == b"hello"


async def test_a_socket_that_is_lost_while_its_octets_wait() -> None:
    share = TurnShare()
    tls = Tls([])
    transport = Transport(tls)
    gate = TlsGate(transport, share, "10.0.0.1")
    gate.data_received(b"hello")
    transport.closing = True
    gate.connection_lost(None)
    for _ in range(4):
        await asyncio.sleep(0)
    assert tls.lost
    assert tls.data == b""


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = Authority(tmp_path)
    files = authority.issue("server", "localhost")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.certificate, files.key)
    return server, ssl.create_default_context(cafile=authority.path)


async def test_a_handshake_with_octets_right_behind_it(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    here, there = socket.socketpair()
    here.setblocking(False)
    inside = Inside()

    async def client() -> bytes:
        reader, writer = await asyncio.open_connection(
            sock=there, ssl=contexts[1], server_hostname="localhost"
        )
        writer.write(b"early" + bytes(100_000))
        return await reader.readexactly(7)

    asking = asyncio.create_task(client())
    await shake_hands(here, contexts[0], TurnShare(), "10.0.0.1", inside)
    assert await asyncio.wait_for(asking, 10) == b"welcome"
    await asyncio.wait_for(inside.complete.wait(), 10)
    assert inside.received.startswith(b"early")
    assert inside.transport is not None
    inside.transport.close()


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x00"])
async def test_a_client_that_does_not_go_on(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
    sent: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paced_handshake, "TLS_HANDSHAKE_S", 0.02)
    here, there = socket.socketpair()
    here.setblocking(False)
    there.send(sent)
    with there, pytest.raises(ConnectionAbortedError):
        await shake_hands(here, contexts[0], TurnShare(), "10.0.0.1", Inside())


@pytest.mark.parametrize("sent", [b"", b"AMQP\x00\x00\x09\x01"])
async def test_a_client_that_leaves(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], sent: bytes
) -> None:
    here, there = socket.socketpair()
    here.setblocking(False)
    there.send(sent)
    there.close()
    with pytest.raises(OSError):
        await shake_hands(here, contexts[0], TurnShare(), "10.0.0.1", Inside())
