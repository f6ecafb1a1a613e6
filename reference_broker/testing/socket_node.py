"""The links of a node on real sockets, with its thread of heartbeats, and without an etcd: the test
says who is there.

    a, b = SocketNode("a", 1), SocketNode("b", 2)
    a.begin()
    a.see("b", b.begin())
    ...
    await a.close()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.link.hello import Purpose
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
from reference_broker.runtime.cluster.heartbeat_thread import HeartbeatThread
from reference_broker.runtime.cluster.link_listener import LinkListener
from reference_broker.runtime.cluster.link_sockets import LinkSockets, Step
from reference_broker.runtime.cluster.tls import LinkTls
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.process.loop_beat import LoopBeat


class SocketNode:
    """A mesh on real sockets. Make it in a running loop, and :meth:`close` it. What it dials in
    vain it does not dial again; ``pauses`` counts how often it would."""

    def __init__(
        self,
        name: str,
        number: int,
        *,
        tls: LinkTls | None = None,
        secret: bytes = b"secret",
        heartbeats_secret: bytes | None = None,
    ) -> None:
        self.name = name
        self.unheard_of: list[str] = []
        self.reports: list[str] = []
        self.pauses = 0
        self.view = View()
        live_nodes = LiveNodes(name, Barrier(self.view), lambda text: None)
        self.view.follow(LIVE, live_nodes)
        self.beat = LoopBeat(asyncio.get_running_loop().call_later)
        self.sockets = LinkSockets(_at_once, tls)
        self.heartbeats = HeartbeatThread(
            Secret(heartbeats_secret or secret), _at_once, self.beat, tls
        )
        takers = {Purpose.LINK: self.sockets.take, Purpose.HEARTBEATS: self.heartbeats.take}
        self.listener = LinkListener(takers, has_tls=tls is not None)
        self.mesh = Mesh(
            Secret(secret),
            self.view,
            live_nodes,
            self.sockets,
            self.heartbeats,
            self._after,
            self,
        )
        self.sockets.attach(self.mesh.accepted, self.mesh.flush)
        self.joined = Joined(
            ClusterRecord("c1", 1, "f00", 0),
            MemberRecord(number, f"d{number}", 1, f"s{number}", 0, "", ""),
            5,
            None,
            number,
        )

    def begin(self) -> str:
        """It has joined. Returns the address at which it listens."""
        address = str(self.listener.listen(Address("127.0.0.1", 0)))
        self.mesh.begin(self.name, self.joined, address)
        return address

    def see(self, name: str, address: str) -> None:
        """Its view has the ``live/`` key of another node."""
        record = LiveRecord(1, NodeState.UP, address)
        list(self.view.take([Event(f"live/{name}", encoded(record), 9)]))

    async def close(self) -> None:
        """End everything, as a node does that stops."""
        self.mesh.close("the node is stopping")
        self.listener.stop()
        await self.sockets.close()
        await self.heartbeats.close()
        self.beat.stop()

    def _after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        self.pauses += 1
        return Deadlines().at(0, callback)

    # The listener

    def heard(self, node: str, applied: int) -> None:
        pass

    def unheard(self, node: str) -> None:
        self.unheard_of.append(node)

    def report(self, text: str) -> None:
        self.reports.append(text)


def _at_once(step: Step) -> None:
    step()
