"""link_sockets: links that are dialled and accepted, with TLS and without."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import uvloop

from mqkit.testing.certificates import Authority
from reference_broker.cluster.link.greetings import ACCEPTED_MAX
from reference_broker.cluster.link.preface import PREFACE_BYTES, decode_preface
from reference_broker.runtime.cluster.link_sockets import LinkSockets
from reference_broker.runtime.cluster.tls import LinkTls
from reference_broker.runtime.cluster_settings import LinkFiles
from reference_broker.testing.socket_node import SocketNode

TIMEOUT_S = 10


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not holds():  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(0)


def _tls(folder: Path) -> LinkTls:
    """TLS with a certificate of a new authority. Each one replaces the files of the one before."""
    signing = Authority(folder)
    node = signing.issue("node", "127.0.0.1")
    return LinkTls(LinkFiles(node.certificate, node.key, signing.path))


async def _linked(tls: LinkTls | None) -> None:
    a, b = SocketNode("a", 1, tls=tls), SocketNode("b", 2, tls=tls)
    a.begin()
    a.see("b", b.begin())
    await _until(lambda: bool(a.mesh.last_heard) and bool(b.mesh.last_heard))
    assert (list(a.mesh.links), list(b.mesh.links)) == (["b"], ["a"])
    await a.close()
    await a.sockets.close()
    await _until(lambda: not b.mesh.links)
    assert b.unheard_of == ["a"]
    await b.sockets.close()
    assert b.mesh.accepted() is not None
    assert b.sockets.accepted() is None
    await b.close()


def test_nodes_are_linked_and_told_of_the_end() -> None:
    asyncio.run(_linked(None))


def test_nodes_are_linked_by_tls(tmp_path: Path) -> None:
    asyncio.run(_linked(_tls(tmp_path)))


def _heard(node: SocketNode) -> list[str]:
    return sorted(node.mesh.last_heard)


def test_links_that_are_made_after_a_renewal_have_the_renewed_certificates(tmp_path: Path) -> None:
    async def scenario() -> None:
        tls = _tls(tmp_path)
        b, c = (SocketNode(name, number, tls=tls) for number, name in enumerate("bc", 2))
        at_b, at_c = b.begin(), c.begin()
        b.see("c", at_c)
        await _until(lambda: (_heard(b), _heard(c)) == (["c"], ["b"]))
        before = b.mesh.links["c"]
        renewed = _tls(tmp_path)  # of another authority, in the same files
        a, d = (SocketNode(name, number, tls=renewed) for number, name in ((1, "a"), (4, "d")))
        a.begin()
        b.see("d", d.begin())
        a.see("b", at_b)
        await _until(lambda: _heard(b) == ["a", "c", "d"])
        assert b.mesh.links["c"] is before, "a link that is open has ended"
        before.end("to be made anew")
        b.sockets.look_at(before)
        await _until(lambda: "c" not in b.mesh.links and "b" not in c.mesh.links)
        b.see("c", at_c)
        await _until(lambda: _heard(b) == ["a", "c", "d"] and _heard(c) == ["b"])
        assert [each for node in (a, b, c, d) for each in node.reports if "TLS" in each] == []
        for node in (a, b, c, d):
            await node.close()

    asyncio.run(scenario())


def test_links_go_on_with_the_last_certificates_that_fit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        tls = _tls(tmp_path)
        other = Authority(tmp_path, "others").issue("other", "127.0.0.1")
        (tmp_path / "node.pem").write_bytes(other.certificate.read_bytes())
        await _linked(tls)

    asyncio.run(scenario())
    (line,) = (each.getMessage() for each in caplog.records)
    assert line == (
        f"TLS key {tmp_path / 'node.key'}: not the key of the first certificate in"
        f" {tmp_path / 'node.pem'} (the TLS files before it stay in use)"
    )


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:9", "can't be reached"),
        ("nowhere", "not HOST:PORT"),
        ("no-such-host.invalid:1", "can't be reached"),
    ],
)
def test_a_node_that_cannot_be_reached_is_dialled_again(address: str, reason: str) -> None:
    async def scenario() -> None:
        node = SocketNode("a", 1)
        node.begin()
        node.see("b", address)
        await _until(lambda: node.pauses == 1)
        assert len(node.reports) == 1
        assert reason in node.reports[0]
        await node.close()

    asyncio.run(scenario())


def test_a_dial_that_goes_on_does_not_hold_up_the_end() -> None:
    async def scenario() -> None:
        node = SocketNode("a", 1)
        node.begin()
        node.see("b", "127.0.0.1:9")
        await node.close()
        assert node.mesh.links == {}

    asyncio.run(scenario())


def test_who_dials_says_the_purpose_before_tls_and_trusts_not_everybody(tmp_path: Path) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        node = SocketNode("a", 1, tls=_tls(tmp_path))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            node.begin()
            node.see("b", f"127.0.0.1:{listening.getsockname()[1]}")
            accepted, _ = await loop.sock_accept(listening)
        octets = b""
        while len(octets) < PREFACE_BYTES + 1:
            octets += await loop.sock_recv(accepted, PREFACE_BYTES + 1 - len(octets))
        assert decode_preface(octets[:PREFACE_BYTES]) == 0
        assert octets[PREFACE_BYTES] == 0x16, "no handshake of TLS"
        accepted.close()
        await _until(lambda: node.pauses == 1)
        assert "can't be reached" in node.reports[0]
        await node.close()

    asyncio.run(scenario())


def test_handshakes_of_tls_that_never_end_are_bounded(tmp_path: Path) -> None:
    async def scenario() -> None:
        sockets = LinkSockets(partial(_call), _tls(tmp_path))
        pairs = [socket.socketpair() for _ in range(ACCEPTED_MAX + 1)]
        for near, _ in pairs:
            near.setblocking(False)
            sockets.take(near)
        assert [near.fileno() == -1 for near, _ in pairs] == [False] * ACCEPTED_MAX + [True]
        await asyncio.sleep(0)
        await sockets.close()
        assert [near.fileno() for near, _ in pairs] == [-1] * (ACCEPTED_MAX + 1)
        for _, far in pairs:
            far.close()

    asyncio.run(scenario())


def test_the_end_of_a_turn_is_an_input_too() -> None:
    async def scenario() -> None:
        inputs: list[str] = []

        def as_input(step: Callable[[], None]) -> None:
            inputs.append("begin")
            step()
            inputs.append("end")

        sockets = LinkSockets(as_input)
        sockets.attach(lambda: None, lambda: inputs.append("turn"))
        sockets.flush_later()
        sockets.flush_later()
        await _until(lambda: bool(inputs))
        assert inputs == ["begin", "turn", "end"]
        await sockets.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("turns", range(8))
def test_an_end_within_the_first_turns_of_a_socket(turns: int) -> None:
    async def scenario() -> None:
        a, b = SocketNode("a", 1), SocketNode("b", 2)
        a.begin()
        a.see("b", b.begin())
        for _ in range(turns):
            await asyncio.sleep(0)
        async with asyncio.timeout(TIMEOUT_S):
            await a.close()
            await b.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())


@pytest.mark.parametrize("turns", range(4))
def test_an_end_within_the_first_turns_of_an_accepted_socket(turns: int) -> None:
    async def scenario() -> None:
        node = SocketNode("a", 1)
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            socket.create_connection(listening.getsockname()) as far,
        ):
            near, _ = listening.accept()
            near.setblocking(False)
            node.sockets.take(near)
            for _ in range(turns):
                await asyncio.sleep(0)
            async with asyncio.timeout(TIMEOUT_S):
                await node.close()
            far.settimeout(TIMEOUT_S)
            with suppress(ConnectionResetError):
                while far.recv(4_096):
                    pass

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())


def _call(step: Callable[[], None]) -> None:
    step()
