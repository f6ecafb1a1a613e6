"""mesh: one link with every other node, dialled by the lower name, again and again; and what it
tells."""

from __future__ import annotations

from collections.abc import Iterable

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.link.lane import OWNER_KINDS, Lane
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
from reference_broker.cluster.mesh import ACCEPTED_MAX, Mesh
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.keys import LIVE
from reference_broker.cluster.metadata.view import View
from reference_broker.testing.hand_clock import HandClock


class Node:
    """A node's mesh, and its shell: bytes go when the test says so."""

    def __init__(self, net: Net, name: str, number: int, secret: bytes = b"secret") -> None:
        self.net, self.name = net, name
        self.view = View()
        live_nodes = LiveNodes(name, Barrier(self.view), lambda text: None)
        self.view.follow(LIVE, live_nodes)
        self.dials: list[tuple[str, Link]] = []
        self.looked_at: dict[Link, None] = {}
        self.heard_of: dict[str, int] = {}
        self.nonces = 0
        self.wall_off_ms = 0
        self.reports: list[str] = []
        self.mesh = Mesh(Secret(secret), self.view, live_nodes, self, net.clock.after, self)
        self.joined = Joined(
            ClusterRecord("c1", 1, "f00", 0),
            MemberRecord(number, f"d{number}", 1, f"s{number}", 0, "", ""),
            5,
            None,
        )

    def begin(self) -> None:
        self.mesh.begin(self.name, self.joined, f"{self.name}:1")

    def see(self, *names: str, gone: bool = False) -> None:
        value = None if gone else encoded(LiveRecord(1, NodeState.UP, ""))
        for name in names:
            if value is not None:
                value = encoded(LiveRecord(1, NodeState.UP, f"{name}:1"))
            list(self.view.take([Event(f"live/{name}", value, 9)]))

    # The shell

    def now(self) -> float:
        return 1_000 + self.net.clock.now_ms / 1_000

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + self.net.clock.now_ms + self.wall_off_ms

    def nonce(self) -> bytes:
        self.nonces += 1
        return f"{self.name}{self.nonces}".encode().ljust(32, b".")

    def dial(self, address: str, link: Link) -> None:
        self.dials.append((address, link))

    def look_at(self, link: Link) -> None:
        self.looked_at[link] = None

    # The listener

    def heard(self, node: str, applied: int) -> None:
        self.heard_of[node] = applied

    def unheard(self, node: str) -> None:
        self.heard_of.pop(node, None)

    def report(self, text: str) -> None:
        self.reports.append(text)


class Net:
    """Nodes, and the sockets between them."""

    def __init__(self, *names: str) -> None:
        self.clock = HandClock()
        self.nodes = {name: Node(self, name, number) for number, name in enumerate(names, 1)}
        self.sockets: list[tuple[Node, Link, Node, Link]] = []

    def connect(self, node: Node) -> None:
        """Let what ``node`` has dialled be connected."""
        dials, node.dials = node.dials, []
        for address, link in dials:
            other = self.nodes[address.partition(":")[0]]
            accepted = other.mesh.accepted()
            assert accepted is not None
            self.sockets.append((node, link, other, accepted))

    def settle(self) -> None:
        """Have all bytes arrive."""
        moved = True
        while moved:
            moved = False
            for node in self.nodes.values():
                node.mesh.flush()
            for first, link, second, accepted in self.sockets:
                for sender, receiver, reader in (
                    (link, accepted, second),
                    (accepted, link, first),
                ):
                    data = b"".join(sender.data_to_send())
                    if data:
                        moved = True
                        receiver.receive_data(data, reader.now())

    def beat(self, seconds: float) -> None:
        """Let time go by, with heartbeats."""
        for _ in range(round(seconds * 10)):
            self.clock.forward(0.1)
            for first, link, second, accepted in self.sockets:
                link.tick(first.now())
                accepted.tick(second.now())
            self.settle()


def _two() -> tuple[Net, Node, Node]:
    net = Net("a", "b")
    a, b = net.nodes.values()
    for node in (a, b):
        node.begin()
        node.see("a", "b")
    net.connect(a)
    net.settle()
    return net, a, b


def _peers(nodes: Iterable[Node]) -> list[list[str]]:
    return [list(node.mesh.links) for node in nodes]


def test_the_lower_name_dials() -> None:
    net, a, b = _two()
    assert (len(net.sockets), b.dials) == (1, [])
    assert _peers((a, b)) == [["b"], ["a"]]
    a.see("b")
    assert a.dials == []


def test_nobody_is_dialled_or_accepted_before_the_node_has_joined() -> None:
    net = Net("a", "b")
    a, b = net.nodes.values()
    a.see("b")
    assert a.dials == []
    assert b.mesh.accepted() is None
    a.begin()
    assert [address for address, _ in a.dials] == ["b:1"]


def test_what_cannot_be_dialled_is_dialled_again_after_a_pause() -> None:
    net = Net("a", "b")
    a = net.nodes["a"]
    a.begin()
    a.see("b")
    for pause in (0.1, 0.2):
        a.dials.pop()[1].lost("connection refused")
        assert a.dials == []
        net.clock.forward(pause)
        assert len(a.dials) == 1
    a.see("b", gone=True)
    a.dials.pop()[1].lost("connection refused")
    net.clock.forward(5)
    assert a.dials == []


def test_a_link_that_is_lost_is_told_and_dialled_again() -> None:
    net, a, b = _two()
    for node in (a, b):
        node.mesh.serve()
        node.view.reach(7)
    net.settle()
    assert (a.heard_of, b.heard_of) == ({"b": 7}, {"a": 7})
    _, link, _, accepted = net.sockets.pop()
    link.lost("reset")
    accepted.lost("reset")
    assert (a.heard_of, b.heard_of) == ({}, {})
    assert _peers((a, b)) == [[], []]
    net.clock.forward(0.1)
    net.connect(a)
    net.settle()
    assert _peers((a, b)) == [["b"], ["a"]]
    net.beat(0.3)
    assert (a.heard_of, b.heard_of) == ({"b": 7}, {"a": 7})


def test_only_who_serves_is_heard_of() -> None:
    net, a, b = _two()
    b.view.reach(7)
    net.beat(1)
    assert a.heard_of == {}
    b.mesh.serve()
    net.settle()
    assert a.heard_of == {"b": 7}


def test_a_view_that_rises_is_told_at_once_and_once_a_turn() -> None:
    net, a, b = _two()
    b.mesh.serve()
    for revision in range(6, 5_000):
        b.view.reach(revision)
    net.settle()
    assert a.heard_of == {"b": 4_999}
    b.looked_at.clear()
    b.mesh.flush()
    assert not b.looked_at


def test_a_newer_connection_takes_the_place_of_the_older() -> None:
    net, a, b = _two()
    before = b.mesh.links["a"]
    net.sockets[0][1].lost("reset")  # the other end has not noticed
    net.clock.forward(0.1)
    net.connect(a)
    net.settle()
    assert b.mesh.links["a"] is not before
    assert "newer connection" in before.reason
    assert list(b.mesh.links) == ["a"]


def test_a_node_with_another_secret_gets_no_link() -> None:
    net = Net("a", "b")
    net.nodes["b"] = b = Node(net, "b", 2, b"another")
    a = net.nodes["a"]
    for node in (a, b):
        node.begin()
        node.see("a", "b")
    net.connect(a)
    net.settle()
    assert _peers((a, b)) == [[], []]
    assert "secret" in net.sockets[0][1].reason


def test_what_this_version_does_not_know_ends_the_link() -> None:
    for lane, kind in ((Lane.CONTROL, OWNER_KINDS + 9), (Lane.PUBLISH, 1)):
        net, a, b = _two()
        a.mesh.links["b"].send(lane, kind, (b"x",))
        net.settle()
        assert _peers((a, b)) == [[], []]
        assert "does not know" in net.sockets[0][3].reason
    net, a, b = _two()
    answers: list[object] = []
    a.mesh.links["b"].ask(b"?", a.now() + 1, answers.append)
    net.settle()
    net.beat(0.1)
    assert len(answers) == 1
    assert _peers((a, b)) == [[], []]


def test_a_closed_mesh_tells_why_and_dials_no_more() -> None:
    net, a, _ = _two()
    a.mesh.close("the node is stopping")
    net.settle()
    assert "the node is stopping" in net.sockets[0][3].reason
    assert a.mesh.accepted() is None
    net.clock.forward(10)
    assert a.dials == []


def test_what_becomes_of_a_link_is_told_once() -> None:
    net = Net("a", "b")
    a, b = net.nodes.values()
    for node in (a, b):
        node.begin()
        node.see("a", "b")
    for pause in (0.1, 0.2, 0.4):
        a.dials.pop()[1].lost("connection refused")
        net.clock.forward(pause)
    assert a.reports == ["no link with node 'b': connection refused"]
    net.connect(a)
    net.settle()
    net.sockets.pop()[1].lost("reset")
    assert a.reports[1:] == ["linked with node 'b'", "the link with node 'b' is down: reset"]


def test_clocks_that_differ_are_told_and_too_much_is_refused() -> None:
    net, a, b = _two()
    net.beat(1)
    assert a.reports == ["linked with node 'b'"]
    b.wall_off_ms = 3_000
    b.mesh.serve()
    b.view.reach(9)  # it looks at its clock
    net.beat(1)
    assert len(a.reports) == 2
    assert "the clock of node 'b' is 3.0 s ahead" in a.reports[1]
    for revision in range(10, 15):  # it goes wrong further
        b.wall_off_ms += 150
        b.view.reach(revision)
        net.beat(1)
    assert len(a.reports) == 2

    net = Net("a", "b")
    a, b = net.nodes.values()
    b.wall_off_ms = -600_000
    for node in (a, b):
        node.begin()
        node.see("a", "b")
    net.connect(a)
    net.settle()
    assert _peers((a, b)) == [[], []]
    assert "the clock of node 'a' is 600 s ahead of that of node 'b'" in a.reports[0]


def test_those_who_never_introduce_themselves_are_bounded() -> None:
    net = Net("a", "b")
    a = net.nodes["a"]
    a.begin()
    links = [a.mesh.accepted() for _ in range(ACCEPTED_MAX)]
    assert None not in links
    assert a.mesh.accepted() is None
    assert links[0] is not None
    links[0].lost("reset")
    assert a.mesh.accepted() is not None
