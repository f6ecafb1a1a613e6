"""link_socket: bytes of a link over a real socket, bounded in either direction."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import pairwise

import uvloop

from reference_broker.cluster.link.frame import FRAME_PAYLOAD_MAX
from reference_broker.cluster.link.handshake import Role
from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.link.link_state import LinkState
from reference_broker.runtime.cluster.link_socket import (
    READ_PER_TURN_BYTES,
    WRITTEN_PER_TURN_BYTES,
    LinkSocket,
)
from reference_broker.testing.link_pair import LinkEnd, identity

TIMEOUT_S = 30


class Host:
    """The host of one socket, and the owner's end of its link."""

    def __init__(self, role: Role, *, takes: bool = True) -> None:
        self.loop = asyncio.get_running_loop()
        self.end = LinkEnd(role, identity(role), self.now())
        self.takes = takes
        self.inputs = self.gone_count = 0
        self.flushed: list[int] = []
        """Octets of each flush."""
        dialled = self.end.link if role is Role.DIALER else None
        self.socket = LinkSocket(self, self.loop, dialled)

    def accepted(self) -> Link | None:
        return self.end.link if self.takes else None

    def input(self, link_socket: LinkSocket, step: partial[None]) -> None:
        self.inputs += 1
        step()
        self.loop.call_soon(self.flush)

    def look_at(self, link: Link) -> None:
        self.loop.call_soon(self.flush)

    def now(self) -> float:
        return self.loop.time()

    def gone(self, link_socket: LinkSocket) -> None:
        self.gone_count += 1

    def flush(self) -> None:
        before = sum(self.end.link.counts.sent_octets)
        self.socket.flush()
        self.flushed.append(sum(self.end.link.counts.sent_octets) - before)


async def _connect(*, takes: bool = True) -> tuple[Host, Host]:
    dialer, acceptor = Host(Role.DIALER), Host(Role.ACCEPTOR, takes=takes)
    listening = socket.create_server(("127.0.0.1", 0))
    server = await dialer.loop.create_server(lambda: acceptor.socket, sock=listening)
    await dialer.loop.create_connection(lambda: dialer.socket, *listening.getsockname())
    server.close()
    return dialer, acceptor


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nobody tells it
        await asyncio.sleep(0)


def _run(
    scenario: Coroutine[None, None, None],
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(TIMEOUT_S):
            await scenario

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(bounded())


async def _open() -> tuple[Host, Host]:
    dialer, acceptor = await _connect()
    await _until(lambda: dialer.end.opened + acceptor.end.opened == 2)
    return dialer, acceptor


def test_a_link_opens_and_beats_by_its_own_timer() -> None:
    async def scenario() -> None:
        dialer, acceptor = await _open()
        await _until(lambda: dialer.end.link.heartbeats.answered_at > 0)
        assert acceptor.end.heartbeats > 0
        for host in (dialer, acceptor):
            host.socket.abort()
        await _until(lambda: dialer.gone_count + acceptor.gone_count == 2)

    _run(scenario())


def test_a_message_larger_than_all_buffers_arrives() -> None:
    async def scenario() -> None:
        dialer, acceptor = await _open()
        body = bytes(range(256)) * 100_000
        dialer.end.link.send(Lane.PUBLISH, 1, (body[:7], body[7:]))
        dialer.flush()
        received = acceptor.end.received[Lane.PUBLISH]
        await _until(lambda: bool(received))
        assert received == [(1, body)]
        for host in (dialer, acceptor):
            host.socket.abort()
        await _until(lambda: dialer.gone_count + acceptor.gone_count == 2)

    _run(scenario())


LARGE = bytes(48 * 1024 * 1024)


def test_a_large_message_is_written_in_several_turns() -> None:
    """The socket would take it as quickly as the other end reads."""

    async def scenario() -> None:
        dialer, acceptor = await _open()
        dialer.end.link.send(Lane.PUBLISH, 1, (LARGE,))
        dialer.flush()
        await _until(lambda: bool(acceptor.end.received[Lane.PUBLISH]))
        assert max(dialer.flushed) < WRITTEN_PER_TURN_BYTES + 2 * FRAME_PAYLOAD_MAX
        for host in (dialer, acceptor):
            host.socket.abort()
        await _until(lambda: dialer.gone_count + acceptor.gone_count == 2)

    _run(scenario())


def test_a_large_message_is_read_in_several_turns() -> None:
    """libuv reads a socket again and again as long as something is there."""

    async def scenario() -> None:
        dialer, acceptor = await _open()
        counts, read = acceptor.end.link.counts.received_octets, [0]
        dialer.end.link.send(Lane.PUBLISH, 1, (LARGE,))
        dialer.flush()
        received = acceptor.end.received[Lane.PUBLISH]
        while not received:
            await asyncio.sleep(0)
            read.append(counts[Lane.PUBLISH])
        in_a_turn = max(after - before for before, after in pairwise(read))
        assert in_a_turn < READ_PER_TURN_BYTES + 2 * FRAME_PAYLOAD_MAX
        for host in (dialer, acceptor):
            host.socket.abort()
        await _until(lambda: dialer.gone_count + acceptor.gone_count == 2)

    _run(scenario(), uvloop.new_event_loop)


def test_many_frames_are_taken_in_several_turns() -> None:
    async def scenario() -> None:
        dialer, acceptor = await _open()
        before = acceptor.inputs
        for number in range(2_000):
            dialer.end.link.send(Lane.DELIVER, 1, (b"%d" % number,))
        dialer.flush()
        received = acceptor.end.received[Lane.DELIVER]
        await _until(lambda: len(received) == 2_000)
        assert [payload for _, payload in received] == [b"%d" % n for n in range(2_000)]
        assert acceptor.inputs - before >= 2_000 // 256
        for host in (dialer, acceptor):
            host.socket.abort()
        await _until(lambda: dialer.gone_count + acceptor.gone_count == 2)

    _run(scenario())


def test_the_end_is_told_and_closes_both_sockets() -> None:
    async def scenario() -> None:
        dialer, acceptor = await _open()
        dialer.end.link.end("the node is stopping")
        dialer.flush()
        await _until(lambda: dialer.gone_count + acceptor.gone_count == 2)
        assert "the node is stopping" in acceptor.end.link.reason
        assert acceptor.end.link.state is dialer.end.link.state is LinkState.CLOSED

    _run(scenario())


def test_a_socket_that_is_lost_ends_the_link() -> None:
    async def scenario() -> None:
        dialer, acceptor = await _open()
        dialer.socket.abort()
        await _until(lambda: dialer.gone_count + acceptor.gone_count == 2)
        assert acceptor.end.downs
        assert acceptor.end.link.closed

    _run(scenario())


def test_one_that_nobody_takes_is_closed() -> None:
    async def scenario() -> None:
        dialer, acceptor = await _connect(takes=False)
        await _until(lambda: dialer.gone_count == 1)
        assert dialer.end.downs
        assert acceptor.inputs == 0

    _run(scenario())
