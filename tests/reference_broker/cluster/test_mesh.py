"""mesh: one link with every other node, dialled by the lower name, again and again; and what it
tells."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.link.greetings import ACCEPTED_MAX
from reference_broker.cluster.link.heartbeats import Report
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.lane import OWNER_KINDS, Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.link.secret import Secret
from reference_broker.testing.mesh_net import Heartbeater, MeshNet, MeshNode


class _Lanes:
    """A user of lanes that notes what it is told, with the link's place among those it has had."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.told: list[tuple[object, ...]] = []

    def link_open(self, link: Link) -> None:
        self.links.append(link)
        self.told.append(("open", self.links.index(link)))

    def link_down(self, link: Link) -> None:
        self.told.append(("down", self.links.index(link)))

    def applied(self, link: Link, revision: int) -> None:
        self.told.append(("applied", self.links.index(link), revision))

    def receive(self, link: Link, lane: Lane, kind: int, payload: memoryview) -> None:
        self.told.append((self.links.index(link), lane, kind, bytes(payload)))

    def flush(self) -> None:
        self.told.append(("turn",))

    def take(self) -> list[tuple[object, ...]]:
        told, self.told = [each for each in self.told if each != ("turn",)], []
        return told


def _with_lanes() -> tuple[MeshNet, MeshNode, MeshNode, _Lanes]:
    net = MeshNet("a", "b")
    lanes = _Lanes()
    net.nodes["b"] = MeshNode(net, "b", 2, lanes=lanes)
    net.linked()
    return net, net.nodes["a"], net.nodes["b"], lanes


def _two() -> tuple[MeshNet, MeshNode, MeshNode]:
    net = MeshNet("a", "b").linked()
    a, b = net.nodes.values()
    return net, a, b


def _peers(nodes: Iterable[MeshNode]) -> list[list[str]]:
    return [list(node.mesh.links) for node in nodes]


def _whole(nodes: Iterable[MeshNode]) -> list[list[str]]:
    return [list(node.mesh.last_heard) for node in nodes]


def test_the_lower_name_dials() -> None:
    net, a, b = _two()
    assert [(wire.purpose, wire.dialer) for wire in net.wires] == [(each, a) for each in Purpose]
    assert b.dials == []
    assert _peers((a, b)) == [["b"], ["a"]]
    a.see("b")
    assert a.dials == []


def test_nobody_is_dialled_or_accepted_before_the_node_has_joined() -> None:
    net = MeshNet("a", "b")
    a, b = net.nodes.values()
    a.see("b")
    assert a.dials == []
    assert b.mesh.accepted() is None
    a.begin()
    assert [address for address, _ in a.dials] == ["b:1"]


def test_what_cannot_be_dialled_is_dialled_again_after_a_pause() -> None:
    net = MeshNet("a", "b")
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
    net.wires[0].dialled.lost("reset")
    net.settle()
    assert (a.heard_of, b.heard_of) == ({}, {})
    assert _peers((a, b)) == [[], []]
    net.clock.forward(0.1)
    net.connect()
    net.settle()
    assert _peers((a, b)) == [["b"], ["a"]]
    net.pass_time(0.3)
    assert (a.heard_of, b.heard_of) == ({"b": 7}, {"a": 7})


def test_only_who_serves_is_heard_of() -> None:
    net, a, b = _two()
    b.view.reach(7)
    net.pass_time(1)
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
    b.shell.looked_at.clear()
    b.mesh.flush()
    assert not b.shell.looked_at


def test_a_newer_connection_takes_the_place_of_the_older() -> None:
    net, a, b = _two()
    before = b.mesh.links["a"]
    wires, net.wires = net.wires, []  # the other end does not notice
    wires[0].dialled.lost("reset")
    net.pass_time(0.3)
    assert b.mesh.links["a"] is not before
    assert "newer connection" in before.reason
    assert list(b.mesh.links) == ["a"]
    assert "a newer link" in wires[1].accepted.reason
    assert _whole((a, b)) == [["b"], ["a"]]


def test_a_node_with_another_secret_gets_no_link() -> None:
    net = MeshNet("a", "b")
    net.nodes["b"] = b = MeshNode(net, "b", 2, b"another")
    a = net.nodes["a"]
    for node in (a, b):
        node.begin()
        node.see("a", "b")
    net.connect()
    net.settle()
    assert _peers((a, b)) == [[], []]
    assert "secret" in net.wires[0].dialled.reason


def test_what_this_version_does_not_know_ends_the_link() -> None:
    for lane, kind in ((Lane.CONTROL, OWNER_KINDS + 9), (Lane.PUBLISH, 1)):
        net, a, b = _two()
        a.mesh.links["b"].send(lane, kind, (b"x",))
        net.settle()
        assert _peers((a, b)) == [[], []]
        assert "does not know" in net.wires[0].accepted.reason
    net, a, b = _two()
    answers: list[object] = []
    a.mesh.links["b"].ask(b"?", net.now() + 1, answers.append)
    net.settle()
    net.pass_time(0.05)
    assert len(answers) == 1
    assert _peers((a, b)) == [[], []]


def test_a_closed_mesh_tells_why_and_dials_no_more() -> None:
    net, a, _ = _two()
    a.mesh.close("the node is stopping")
    net.settle()
    assert "the node is stopping" in net.wires[0].accepted.reason
    assert a.mesh.accepted() is None
    net.clock.forward(10)
    assert a.dials == []


def test_what_becomes_of_a_link_is_told_once() -> None:
    net = MeshNet("a", "b")
    a, b = net.nodes.values()
    for node in (a, b):
        node.begin()
        node.see("a", "b")
    for pause in (0.1, 0.2, 0.4):
        a.dials.pop()[1].lost("connection refused")
        net.clock.forward(pause)
    assert a.reports == ["no link with node 'b': connection refused"]
    net.pass_time(0.1)
    net.wires[0].dialled.lost("reset")
    assert a.reports[1:] == ["linked with node 'b'", "the link with node 'b' is down: reset"]


def test_a_node_that_was_forgotten_has_no_link() -> None:
    net, a, b = _two()
    list(a.view.take([Event("members/c", None, 8), Event("members/b", b"its next run", 8)]))
    assert _peers((a, b)) == [["b"], ["a"]]
    list(a.view.take([Event("members/b", b"row", 9), Event("members/b", None, 9)]))
    net.settle()
    assert _peers((a, b)) == [[], []]
    assert "the node was forgotten" in a.reports[-1]


def test_clocks_that_differ_are_told_and_too_much_is_refused() -> None:
    net, a, b = _two()
    net.pass_time(1)
    assert a.reports == ["linked with node 'b'"]
    b.wall_off_ms = 3_000
    b.mesh.serve()
    b.view.reach(9)  # it looks at its clock
    net.pass_time(1)
    assert len(a.reports) == 2
    assert "the clock of node 'b' is 3.0 s ahead" in a.reports[1]
    for revision in range(10, 15):  # it goes wrong further
        b.wall_off_ms += 150
        b.view.reach(revision)
        net.pass_time(1)
    assert len(a.reports) == 2

    net = MeshNet("a", "b")
    a, b = net.nodes.values()
    b.wall_off_ms = -600_000
    for node in (a, b):
        node.begin()
        node.see("a", "b")
    net.connect()
    net.settle()
    assert _peers((a, b)) == [[], []]
    assert "the clock of node 'a' is 600 s ahead of that of node 'b'" in a.reports[0]


def test_those_who_never_introduce_themselves_are_bounded() -> None:
    net = MeshNet("a", "b")
    a = net.nodes["a"]
    a.begin()
    links = [a.mesh.accepted() for _ in range(ACCEPTED_MAX)]
    assert None not in links
    assert a.mesh.accepted() is None
    assert links[0] is not None
    links[0].lost("reset")
    assert a.mesh.accepted() is not None


# The second connection, of heartbeats


def test_a_loop_that_stands_for_a_moment_is_not_taken_for_dead() -> None:
    net, a, b = _two()
    for node in (a, b):
        node.mesh.serve()
        node.view.reach(7)
    net.pass_time(1)
    links = (a.mesh.links["b"], b.mesh.links["a"])
    for _ in range(3):
        b.stands = True
        net.pass_time(2.5)
        assert a.heard_of == {"b": 7}
        b.stands = False
        net.pass_time(1)
    assert (a.mesh.links["b"], b.mesh.links["a"]) == links
    assert (a.heard_of, b.heard_of) == ({"b": 7}, {"a": 7})


def test_a_loop_that_hangs_is_vouched_for_by_nobody_after_5_s() -> None:
    net, a, b = _two()
    b.mesh.serve()
    b.view.reach(7)
    net.pass_time(1)
    b.stands = True
    net.pass_time(4.5)
    assert a.heard_of == {"b": 7}
    net.pass_time(0.8)
    assert a.heard_of == {}
    assert _peers((a, b)) == [[], ["a"]]
    assert "its heartbeats: nothing came for 2 s" in a.reports[-1]
    b.stands = False
    net.pass_time(1)  # what happened meanwhile is told, and they find each other again
    assert _whole((a, b)) == [["b"], ["a"]]
    assert a.heard_of == {"b": 7}


def test_a_node_does_not_take_others_for_dead_because_it_stood_itself() -> None:
    net, a, b = _two()
    a.stands = b.stands = True
    net.pass_time(2.9)
    a.stands = b.stands = False
    net.pass_time(5)
    assert [len(node.reports) for node in (a, b)] == [1, 1]
    assert _whole((a, b)) == [["b"], ["a"]]


@pytest.mark.parametrize("deaf", ["a", "b"])
@pytest.mark.parametrize("lost", [tuple(Purpose), (Purpose.HEARTBEATS,)])
def test_loss_one_way_takes_the_link_down_at_both_ends_within_3_s(
    deaf: str, lost: tuple[Purpose, ...]
) -> None:
    net, a, b = _two()
    net.pass_time(0.6)
    other = "b" if deaf == "a" else "a"
    net.lose(other, deaf, *lost)
    net.pass_time(3)
    assert [len(node.reports) for node in (a, b)] == [2, 2]
    assert all("is down: " in node.reports[1] for node in (a, b))


@pytest.mark.parametrize("deaf", ["a", "b"])
def test_a_link_that_is_stuck_while_its_heartbeats_come_is_noticed(deaf: str) -> None:
    net, a, b = _two()
    net.pass_time(0.6)
    net.lose("b" if deaf == "a" else "a", deaf, Purpose.LINK)
    net.pass_time(4.9)
    assert _whole((a, b)) == [["b"], ["a"]]
    net.pass_time(1.3)
    reports = {node.name: node.reports[1] for node in (a, b)}
    assert "is down: nothing came for 6 s" in reports.pop(deaf)
    (told,) = reports.values()
    assert "is down: the other end closed it" in told


def test_where_heartbeats_cannot_be_had_there_is_no_link_for_long_and_it_is_told_once() -> None:
    net = MeshNet("a", "b")
    a, b = net.nodes.values()
    b.heartbeats = Heartbeater(b, Secret(b"another"))
    b.mesh._heartbeats = b.heartbeats
    net.linked()
    net.pass_time(5)
    line = (
        "no link with node 'b': its heartbeats: node 'b' ended the link: node 'a' and node 'b' have"
        " different cluster secrets: give both the same secret file"
    )
    assert a.reports == [line]
    dialled = sum(wire.purpose is Purpose.LINK for wire in net.wires)
    assert 3 <= dialled <= 6, "the pauses between the attempts do not grow"


def test_heartbeats_of_a_link_that_has_ended_are_not_heard() -> None:
    net, a, b = _two()
    link_id = a.mesh.links["b"].peer.link_id
    heard = a.mesh.last_heard["b"]._replace(report=Report(applied_revision=99))
    net.wires[0].dialled.lost("reset")
    a.mesh.heard(link_id, heard)
    assert _whole((a,)) == [[]]
    net.pass_time(0.5)
    a.mesh.heard(link_id, heard)
    a.mesh.heartbeats_ended(link_id, "late")
    assert a.heard_of == {}
    assert _whole((a, b)) == [["b"], ["a"]]


def test_a_link_goes_down_with_its_heartbeats_and_they_with_it() -> None:
    net, a, b = _two()
    net.wires[1].dialled.lost("reset")
    net.settle()
    assert "the link with node 'b' is down: its heartbeats: reset" in a.reports
    assert "node 'a' ended the link: its heartbeats: reset" in b.reports[-1]
    net.pass_time(0.5)
    assert _whole((a, b)) == [["b"], ["a"]]
    net.wires[2].dialled.lost("gone")
    net.settle()
    assert [wire.dialled.reason for wire in net.wires[2:4]] == ["gone", "gone"]


def test_the_user_of_the_lanes_is_told_of_links_and_what_comes_over_them() -> None:
    net, a, b, lanes = _with_lanes()
    assert lanes.take() == [("open", 0)]
    a.mesh.serve()
    a.view.reach(7)
    a.mesh.links["b"].send(Lane.PUBLISH, 3, (b"x",))
    net.settle()
    assert lanes.take() == [("applied", 0, 7), (0, Lane.PUBLISH, 3, b"x")]
    net.wires[0].dialled.lost("reset")
    net.settle()
    assert lanes.take() == [("down", 0)]
    net.pass_time(0.3)
    assert lanes.take() == [("open", 1), ("applied", 1, 7)]
    b.mesh.close("over")
    assert lanes.take() == [("down", 1)]


def test_an_older_link_is_down_before_the_newer_one_is_there() -> None:
    net, a, _, lanes = _with_lanes()
    old = a.mesh.links["b"]
    wires, net.wires = net.wires, []  # the other end does not notice
    old.send(Lane.PUBLISH, 3, (b"late",))
    late = b"".join(old.data_to_send())
    wires[0].dialled.lost("reset")
    net.pass_time(0.3)
    wires[0].accepted.receive_data(late, net.now())
    assert lanes.take() == [("open", 0), ("down", 0), ("open", 1)]


def test_the_user_of_the_lanes_is_told_of_every_end_of_a_turn() -> None:
    _, _, b, lanes = _with_lanes()
    lanes.told.clear()
    b.mesh.serve()
    b.view.reach(7)
    b.mesh.flush()
    b.mesh.flush()
    assert lanes.told == [("turn",), ("turn",)]


def test_a_link_that_was_open_is_counted_when_it_has_ended() -> None:
    net, a, b = _two()
    assert (a.mesh.past_links.number("b"), b.mesh.past_links.number("a")) == (0, 0)
    sent = list(a.mesh.links["b"].counts.sent_frames)
    net.wires[0].dialled.lost("reset")
    net.settle()
    assert (a.mesh.past_links.number("b"), b.mesh.past_links.number("a")) == (1, 1)
    assert a.mesh.past_links.counts_with("b", None).sent_frames == sent
    a.dials.clear()
    net.clock.forward(0.1)
    a.dials.pop()[1].lost("connection refused")
    assert a.mesh.past_links.number("b") == 1, "it was never open"


def test_a_link_that_a_newer_one_replaces_has_ended() -> None:
    net, a, b = _two()
    wires, net.wires = net.wires, []  # the other end does not notice
    wires[0].dialled.lost("reset")
    net.pass_time(0.3)
    net.connect()
    net.settle()
    assert (a.mesh.past_links.number("b"), b.mesh.past_links.number("a")) == (1, 1)
