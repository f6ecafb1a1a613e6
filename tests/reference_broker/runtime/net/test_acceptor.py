"""acceptor: a few a turn, and sockets end before the descriptors do."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise

import pytest
import uvloop

from reference_broker.core.base.peer import Peer
from reference_broker.runtime.net import acceptor
from reference_broker.runtime.net.acceptor import (
    ACCEPTS_PER_TURN,
    Acceptor,
    SocketAdmission,
    Transports,
)
from reference_broker.runtime.process.descriptors import SocketBound

pytestmark = pytest.mark.anyio

REMOTE, HERE = Peer("10.0.0.1", 1, "10.0.0.9", 5672), Peer("127.0.0.1", 1, "127.0.0.1", 15672)


@pytest.fixture(
    params=[
        pytest.param(("asyncio", {"loop_factory": asyncio.new_event_loop}), id="asyncio"),
        pytest.param(("asyncio", {"loop_factory": uvloop.new_event_loop}), id="uvloop"),
    ]
)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return request.param


class Sockets:
    """All that was admitted; closed at the end."""

    def __init__(self) -> None:
        self.accepted: list[socket.socket] = []
        self.came = asyncio.Event()

    def take(self, accepted: socket.socket, peer: Peer) -> None:
        assert peer.is_loopback
        self.accepted.append(accepted)
        self.came.set()

    def close(self) -> None:
        for each in self.accepted:
            each.close()


class Numbered(socket.socket):
    """A socket with a descriptor of the test's choice."""

    number = 0

    def fileno(self) -> int:
        return self.number


@pytest.fixture
def numbered() -> Iterator[Numbered]:
    with socket.socket() as real:
        fake = Numbered(fileno=real.detach())
        yield fake
        fake.detach()


def listening() -> socket.socket:
    made = socket.create_server(("127.0.0.1", 0), backlog=64)
    made.setblocking(False)
    return made


def test_one_line_a_minute(numbered: Numbered) -> None:
    now = 0.0
    lines: list[str] = []
    admission = SocketAdmission(SocketBound(1_024), lines.append, lambda: now)
    numbered.number = 943
    assert admission.admits(numbered, REMOTE, is_management=False)
    numbered.number = 944
    for _ in range(100):
        assert not admission.admits(numbered, REMOTE, is_management=False)
    assert len(lines) == 1
    assert "944 file descriptors are in use" in lines[0]
    now = 60.0
    assert not admission.admits(numbered, REMOTE, is_management=True)
    assert "99 lines before it" in lines[1]


def test_the_reserve_is_for_the_management_api_from_here(numbered: Numbered) -> None:
    admission = SocketAdmission(SocketBound(1_024), lambda line: None)
    numbered.number = 950
    assert admission.admits(numbered, HERE, is_management=True)
    assert not admission.admits(numbered, HERE, is_management=False)
    assert not admission.admits(numbered, REMOTE, is_management=True)
    numbered.number = 960
    assert not admission.admits(numbered, HERE, is_management=True)


async def test_sockets_beyond_the_bound_are_closed() -> None:
    with ExitStack() as opened:
        sockets = Sockets()
        first = opened.enter_context(socket.socket())
        admission = SocketAdmission(_Bound(first.fileno() + 20), lambda line: None)
        door = listening()
        accepting = Acceptor([door], admission, sockets.take)
        clients = [
            opened.enter_context(socket.create_connection(door.getsockname())) for _ in range(40)
        ]
        clients[-1].setblocking(False)
        # It hears that it was closed when all before it were handled.
        assert await asyncio.get_running_loop().sock_recv(clients[-1], 1) == b""
        accepting.stop()
        assert all(each.fileno() < first.fileno() + 20 for each in sockets.accepted)
        assert len(sockets.accepted) < 40
        sockets.close()


class _Bound(SocketBound):
    def __init__(self, end: int) -> None:
        super().__init__(1_024)
        self.sockets_end = end

    def admits(self, descriptor: int, *, administrator: bool = False) -> bool:
        return descriptor < self.sockets_end


async def test_a_few_a_turn() -> None:
    with ExitStack() as opened:
        sockets = Sockets()
        door = listening()
        for _ in range(3 * ACCEPTS_PER_TURN):
            opened.enter_context(socket.create_connection(door.getsockname()))
        accepting = Acceptor([door], SocketAdmission(SocketBound(1 << 20)), sockets.take)
        counts = [0]
        while counts[-1] < 3 * ACCEPTS_PER_TURN:
            await sockets.came.wait()
            sockets.came.clear()
            counts.append(len(sockets.accepted))
        accepting.stop()
        accepting.stop()
        steps = [after - before for before, after in pairwise(counts)]
        assert max(steps) <= ACCEPTS_PER_TURN
        sockets.close()


class Exhausted(socket.socket):
    """A listening socket in a process that has no descriptor for a while."""

    errors = 1

    def accept(self) -> tuple[socket.socket, object]:
        if self.errors:
            self.errors -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


async def test_no_descriptor_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor, "ACCEPT_RETRY_S", 0)
    sockets, lines = Sockets(), list[str]()
    real = listening()
    door = Exhausted(fileno=real.detach())
    admission = SocketAdmission(SocketBound(1 << 20), lines.append)
    with socket.create_connection(door.getsockname()):
        accepting = Acceptor([door], admission, sockets.take)
        await asyncio.wait_for(sockets.came.wait(), 10)
        accepting.stop()
    assert lines == ["no socket can be accepted: [Errno 24] Too many open files"]
    sockets.close()


class Told(asyncio.Protocol):
    """Notes its transport, and that it is lost."""

    def __init__(self) -> None:
        self.transport: asyncio.BaseTransport | None = None
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


@pytest.mark.parametrize("turns", range(5))
async def test_a_protocol_that_has_heard_of_a_socket_hears_of_its_end(turns: int) -> None:
    made: list[Told] = []

    def protocol(peer: Peer) -> asyncio.Protocol:
        made.append(Told())
        return made[-1]

    transports = Transports(protocol)
    with listening() as door, socket.create_connection(door.getsockname()):
        near, _ = door.accept()
        near.setblocking(False)
        transports.accepted(near, HERE)
        for _ in range(turns):
            await asyncio.sleep(0)
        await transports.stop()
        await transports.stop()
        for each in made:
            assert each.transport is not None
            each.transport.close()
            await asyncio.wait_for(each.lost.wait(), 10)
        assert len(made) == 1
