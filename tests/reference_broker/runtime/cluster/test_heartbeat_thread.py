"""heartbeat_thread: heartbeats of links go by a thread; nothing of it is left after its end."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from reference_broker.cluster.heartbeat_links import Heard
from reference_broker.cluster.link.hello import LinkId, Purpose
from reference_broker.cluster.link.preface import encode_preface
from reference_broker.runtime.net.address import Address
from reference_broker.testing.socket_node import SocketNode

TIMEOUT_S = 30


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not holds():  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(0)


def _threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "heartbeats"]


def _sockets() -> int:
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        try:
            found += os.readlink(each).startswith("socket:")
        except OSError:
            pass  # of the listing itself
    return found


async def _linked() -> tuple[SocketNode, SocketNode]:
    a, b = SocketNode("a", 1), SocketNode("b", 2)
    a.begin()
    a.see("b", b.begin())
    await _until(lambda: bool(a.mesh.last_heard) and bool(b.mesh.last_heard))
    return a, b


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="sockets are counted in /proc")
def test_one_thread_for_all_links_and_nothing_is_left_of_it() -> None:
    async def scenario() -> None:
        before = _sockets()
        nodes = {name: SocketNode(name, number) for number, name in enumerate("abcd", start=1)}
        addresses = {name: node.begin() for name, node in nodes.items()}
        for node in nodes.values():
            for name, address in addresses.items():
                node.see(name, address)
        await _until(lambda: all(len(node.mesh.last_heard) == 3 for node in nodes.values()))
        assert len(_threads()) == 4
        for node in nodes.values():
            await node.close()
            await node.heartbeats.close()
        assert _threads() == []
        assert _sockets() == before

    asyncio.run(scenario())


def test_what_a_node_says_arrives_as_inputs_of_the_loop() -> None:
    async def scenario() -> None:
        a, b = await _linked()
        b.mesh.serve()
        b.view.reach(12)
        b.sockets.flush_later()
        await _until(lambda: a.mesh.last_heard["b"].report.applied_revision == 12)
        await _until(lambda: a.mesh.last_heard["b"].apart_ms is not None)
        apart_ms = a.mesh.last_heard["b"].apart_ms
        assert apart_ms is not None
        assert abs(apart_ms) < 1_000
        await a.close()
        await b.close()

    asyncio.run(scenario())


def test_a_loop_that_stood_is_told_the_last_of_all_that_came() -> None:
    async def scenario() -> None:
        a, b = await _linked()
        told: list[Heard] = []
        came = threading.Semaphore(0)

        def heard(link_id: LinkId, heard: Heard) -> None:
            told.append(heard)

        def put(link_id: LinkId, what: Heard | str) -> None:
            a.heartbeats.__class__._put(a.heartbeats, link_id, what)
            came.release()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(a.mesh, "heard", heard)
            patch.setattr(a.heartbeats, "_put", put)
            for _ in range(4):
                assert came.acquire(timeout=TIMEOUT_S)  # the loop stands
            assert told == []
            await _until(lambda: bool(told))
            assert len(told) == 1
        await a.close()
        await b.close()

    asyncio.run(scenario())


def test_another_secret_is_refused_on_this_connection_too_in_one_line() -> None:
    async def scenario() -> None:
        a, b = SocketNode("a", 1, heartbeats_secret=b"another"), SocketNode("b", 2)
        a.begin()
        a.see("b", b.begin())
        await _until(lambda: bool(a.reports))
        (line,) = a.reports
        assert "no link with node 'b': its heartbeats: node 'b' ended the link: " in line
        assert "different cluster secrets" in line
        assert "\n" not in line
        assert a.mesh.links == {}
        await a.close()
        await b.close()

    asyncio.run(scenario())


def test_an_end_is_told_while_the_loop_of_the_other_goes_on() -> None:
    async def scenario() -> None:
        a, b = await _linked()
        await a.heartbeats.close()
        await _until(lambda: not b.mesh.links)
        assert "its heartbeats: node 'a' ended the link: the node is stopping" in b.reports[-1]
        a.heartbeats.keep(b.mesh._hello.link_id, "127.0.0.1:9")  # type: ignore[union-attr]
        await a.close()
        await b.close()

    asyncio.run(scenario())


def test_a_socket_that_comes_after_the_end_is_closed() -> None:
    async def scenario() -> None:
        node = SocketNode("a", 1)
        address = Address.parse(node.begin())
        await node.heartbeats.close()
        loop = asyncio.get_running_loop()
        with socket.socket() as dialled:
            dialled.setblocking(False)
            await loop.sock_connect(dialled, tuple(address))
            await loop.sock_sendall(dialled, encode_preface(Purpose.HEARTBEATS))
            async with asyncio.timeout(TIMEOUT_S):
                assert await loop.sock_recv(dialled, 1) == b""
        await node.close()

    asyncio.run(scenario())
