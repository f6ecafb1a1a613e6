"""The meshes of several nodes and the network between them: bytes go, time passes, and loops stand,
when the test says so.

    net = MeshNet("a", "b").linked()
    net.nodes["b"].stands = True
    net.pass_time(2.5)
"""

from __future__ import annotations

from typing import NamedTuple

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.heartbeat_links import (
    Heard,
    HeartbeatLinks,
    HeartbeatListener,
    Testimony,
)
from reference_broker.cluster.link.heartbeats import Report
from reference_broker.cluster.link.hello import Hello, LinkId, Purpose
from reference_broker.cluster.link.link import Link
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
from reference_broker.cluster.mesh import LaneUser, Mesh
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.keys import LIVE
from reference_broker.cluster.metadata.view import View
from reference_broker.testing.hand_clock import HandClock

STEP_S = 0.05


class Shell:
    """The shell of a mesh, or of the thread of heartbeats: ``dials`` are what it was asked for."""

    def __init__(self, node: MeshNode) -> None:
        self._node = node
        self._nonces = 0
        self.dials: list[tuple[str, Link]] = []
        self.looked_at: dict[Link, None] = {}

    def now(self) -> float:
        return self._node.net.now()

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + self._node.net.clock.now_ms + self._node.wall_off_ms

    def nonce(self) -> bytes:
        self._nonces += 1
        return f"{self._node.name}{self._nonces}".encode().ljust(32, b".")

    def dial(self, address: str, link: Link) -> None:
        self.dials.append((address, link))

    def look_at(self, link: Link) -> None:
        self.looked_at[link] = None


class Heartbeater:
    """The thread of heartbeats of a node."""

    def __init__(self, node: MeshNode, secret: Secret) -> None:
        self._node = node
        self.shell = Shell(node)
        self.links = HeartbeatLinks(secret, self.shell, self._testimony, self)
        self.news: list[tuple[LinkId, Heard | str]] = []
        """All that the loop was not told yet."""
        self._listener: HeartbeatListener | None = None
        self._report = Report()

    def begin(self, hello: Hello, listener: HeartbeatListener) -> None:
        self._listener = listener
        self.links.begin(hello)

    def say(self, report: Report) -> None:
        self._report = report

    def keep(self, link_id: LinkId, address: str) -> None:
        self.links.keep(link_id, address)

    def end(self, link_id: LinkId, reason: str) -> None:
        self.links.end(link_id, reason)

    def tell(self) -> None:
        """Tell the loop all that is new."""
        news, self.news = self.news, []
        assert self._listener is not None or not news
        for link_id, what in news:
            if isinstance(what, Heard):
                self._listener.heard(link_id, what)  # type: ignore[union-attr]
            else:
                self._listener.heartbeats_ended(link_id, what)  # type: ignore[union-attr]

    def _testimony(self) -> Testimony:
        return Testimony(self._report, self._node.beat_at)

    def heard(self, link_id: LinkId, heard: Heard) -> None:
        self.news.append((link_id, heard))

    def heartbeats_ended(self, link_id: LinkId, reason: str) -> None:
        self.news.append((link_id, reason))


class MeshNode:
    """A node's mesh, its thread of heartbeats, and all that the mesh tells. While its loop
    ``stands`` only the thread goes on."""

    def __init__(
        self,
        net: MeshNet,
        name: str,
        number: int,
        secret: bytes = b"secret",
        lanes: LaneUser | None = None,
    ) -> None:
        self.net, self.name = net, name
        self.view = View()
        live_nodes = LiveNodes(name, Barrier(self.view), lambda text: None)
        self.live_nodes = live_nodes
        self.view.follow(LIVE, live_nodes)
        self.stands = False
        self.beat_at = net.now()
        self.heard_of: dict[str, int] = {}
        self.wall_off_ms = 0
        self.reports: list[str] = []
        self.shell = Shell(self)
        self.heartbeats = Heartbeater(self, Secret(secret))
        self.mesh = Mesh(
            Secret(secret),
            self.view,
            live_nodes,
            self.shell,
            self.heartbeats,
            net.clock.after,
            self,
            lanes,
        )
        self.joined = Joined(
            ClusterRecord("c1", 1, "f00", 0),
            MemberRecord(number, f"d{number}", 1, f"s{number}", 0, "", ""),
            5,
            None,
            number,
        )

    @property
    def dials(self) -> list[tuple[str, Link]]:
        """The links that the mesh wants dialled."""
        return self.shell.dials

    def begin(self) -> None:
        """It has joined."""
        self.mesh.begin(self.name, self.joined, f"{self.name}:1")

    def see(self, *names: str, gone: bool = False, state: NodeState = NodeState.UP) -> None:
        """Its view has the ``live/`` keys of these nodes, or has them no more."""
        for name in names:
            value = None if gone else encoded(LiveRecord(1, state, f"{name}:1"))
            list(self.view.take([Event(f"live/{name}", value, 9)]))

    # The listener

    def heard(self, node: str, applied: int) -> None:
        self.heard_of[node] = applied

    def unheard(self, node: str) -> None:
        self.heard_of.pop(node, None)

    def report(self, text: str) -> None:
        self.reports.append(text)


class Wire(NamedTuple):
    """A connection, and the links at its ends."""

    purpose: Purpose
    dialer: MeshNode
    dialled: Link
    acceptor: MeshNode
    accepted: Link


class MeshNet:
    """Nodes, and the sockets between them."""

    def __init__(self, *names: str) -> None:
        self.clock = HandClock()
        self.nodes = {
            name: MeshNode(self, name, number) for number, name in enumerate(names, start=1)
        }
        self.wires: list[Wire] = []
        self.lost: set[tuple[str, str, Purpose]] = set()
        """Sender, receiver and purpose of what does not arrive; nobody is told."""

    def now(self) -> float:
        return 1_000 + self.clock.now_ms / 1_000

    def linked(self) -> MeshNet:
        """This net, once all nodes are linked, and their heartbeats come."""
        for node in self.nodes.values():
            node.begin()
            node.see(*self.nodes)
        self.pass_time(2 * STEP_S)
        return self

    def connect(self) -> None:
        """Let what was dialled be connected."""
        for node in self.nodes.values():
            for purpose, shell in (
                (Purpose.LINK, node.shell),
                (Purpose.HEARTBEATS, node.heartbeats.shell),
            ):
                dials, shell.dials = shell.dials, []
                for address, link in dials:
                    other = self.nodes[address.partition(":")[0]]
                    owner = other.mesh if purpose is Purpose.LINK else other.heartbeats.links
                    accepted = owner.accepted()
                    if accepted is None:
                        link.lost("connection refused")
                    else:
                        self.wires.append(Wire(purpose, node, link, other, accepted))

    def settle(self) -> None:
        """Have all bytes arrive, at loops that go round and at threads."""
        moved = True
        while moved:
            self.connect()
            for node in self.nodes.values():
                if not node.stands:
                    node.heartbeats.tell()
                    node.mesh.flush()
            moved = sum(self._carry(wire) for wire in self.wires) > 0
            moved = moved or any(node.heartbeats.shell.dials for node in self.nodes.values())

    def _carry(self, wire: Wire) -> bool:
        purpose, dialer, dialled, acceptor, accepted = wire
        moved = False
        for sender, link, receiver, peer in (
            (dialer, dialled, acceptor, accepted),
            (acceptor, accepted, dialer, dialled),
        ):
            if purpose is Purpose.LINK and (sender.stands or receiver.stands):
                continue  # what is sent stays in the socket
            data = b"".join(link.data_to_send())
            if (sender.name, receiver.name, purpose) in self.lost:
                continue
            if data:
                moved = True
                peer.receive_data(data, self.now())
            if link.closed and not peer.closed:
                moved = True
                peer.lost("the other end closed it")
        return moved

    def lose(self, sender: str, receiver: str, *purposes: Purpose) -> None:
        """Let nothing through that way, or nothing of these purposes."""
        self.lost |= {(sender, receiver, each) for each in purposes or Purpose}

    def pass_time(self, seconds: float) -> None:
        """Let time go by, with all that is due in it."""
        for _ in range(round(seconds / STEP_S)):
            self.clock.forward(STEP_S)
            for node in self.nodes.values():
                if not node.stands:
                    node.beat_at = self.now()
            self.settle()
            for wire in list(self.wires):
                for node, link in ((wire.dialer, wire.dialled), (wire.acceptor, wire.accepted)):
                    deadline = link.next_deadline()
                    stands = node.stands and wire.purpose is Purpose.LINK
                    if not stands and deadline is not None and deadline <= self.now():
                        link.tick(self.now())
            self.settle()
