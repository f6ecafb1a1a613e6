"""link_sockets: links that are dialled and accepted, with TLS and without."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from functools import partial

import pytest
import trustme

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.membership.joining import Joined
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.records import (
    ClusterRecord,
    LiveRecord,
    MemberRecord,
    NodeState,
    encoded,
)
from reference_broker.cluster.mesh import Mesh
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.keys import LIVE
from reference_broker.cluster.metadata.view import View
from reference_broker.core.base.deadlines import Deadline, Deadlines
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster.link_sockets import LinkSockets, LinkTls
from reference_broker.runtime.net.address import Address

TIMEOUT_S = 30


class Node:
    """A mesh on real sockets, whose live nodes are what the test says."""

    def __init__(self, name: str, number: int, tls: LinkTls | None = None) -> None:
        self.name = name
        self.unheard_of: list[str] = []
        self.reports: list[str] = []
        self.pauses = 0
        self.view = View()
        live_nodes = LiveNodes(name, Barrier(self.view), lambda text: None)
        self.view.follow(LIVE, live_nodes)
        self.sockets = LinkSockets(lambda step: step(), tls)
        secret = Secret(b"secret")
        self.mesh = Mesh(secret, self.view, live_nodes, self.sockets, self._after, self)
        self.sockets.attach(self.mesh)
        self.joined = Joined(
            ClusterRecord("c1", 1, "f00", 0),
            MemberRecord(number, f"d{number}", 1, f"s{number}", 0, "", ""),
            5,
            None,
        )

    async def begin(self) -> str:
        address = str(await self.sockets.listen(Address("127.0.0.1", 0)))
        self.mesh.begin(self.name, self.joined, address)
        return address

    def see(self, name: str, address: str) -> None:
        record = LiveRecord(1, NodeState.UP, address)
        list(self.view.take([Event(f"live/{name}", encoded(record), 9)]))

    def _after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        self.pauses += 1
        return Deadlines().at(0, callback)

    def heard(self, node: str, applied: int) -> None:
        pass

    def unheard(self, node: str) -> None:
        self.unheard_of.append(node)

    def report(self, text: str) -> None:
        self.reports.append(text)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not holds():  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(0)


async def _linked(tls: LinkTls | None) -> None:
    a, b = Node("a", 1, tls), Node("b", 2, tls)
    await a.begin()
    a.see("b", await b.begin())
    await _until(lambda: bool(a.mesh.links) and bool(b.mesh.links))
    a.mesh.close("the node is stopping")
    await a.sockets.close()
    await a.sockets.close()
    await _until(lambda: not b.mesh.links)
    assert b.unheard_of == ["a"]
    await b.sockets.close()
    assert b.mesh.accepted() is not None
    assert b.sockets.accepted() is None


def test_nodes_are_linked_and_told_of_the_end() -> None:
    asyncio.run(_linked(None))


def test_nodes_are_linked_by_tls() -> None:
    authority = trustme.CA()
    accepting = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(accepting)
    dialling = ssl.create_default_context()
    authority.configure_trust(dialling)
    asyncio.run(_linked(LinkTls(accepting, dialling)))


@pytest.mark.parametrize(
    ("address", "reason"),
    [("127.0.0.1:9", "can't be reached"), ("nowhere", "not HOST:PORT")],
)
def test_a_node_that_cannot_be_reached_is_dialled_again(address: str, reason: str) -> None:
    async def scenario() -> None:
        node = Node("a", 1)
        await node.begin()
        node.see("b", address)
        await _until(lambda: node.pauses == 1)
        assert len(node.reports) == 1
        assert reason in node.reports[0]
        await node.sockets.close()

    asyncio.run(scenario())


def test_a_dial_that_goes_on_does_not_hold_up_the_end() -> None:
    async def scenario() -> None:
        node = Node("a", 1)
        await node.begin()
        node.see("b", "127.0.0.1:9")
        await node.sockets.close()
        assert node.mesh.links == {}

    asyncio.run(scenario())


def test_others_are_let_in_by_tls_only() -> None:
    async def scenario() -> None:
        sockets = LinkSockets(partial(_call))
        with pytest.raises(BadConfiguration, match="give them TLS"):
            await sockets.listen(Address("0.0.0.0", 0))
        await sockets.close()

    asyncio.run(scenario())


def _call(step: Callable[[], None]) -> None:
    step()
