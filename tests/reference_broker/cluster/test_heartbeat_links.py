"""heartbeat_links: the connections of heartbeats, each for a link that there is; silent while the
loop stands."""

from __future__ import annotations

import pytest

from reference_broker.cluster.lease import STANDING_S
from reference_broker.cluster.link.greetings import ACCEPTED_MAX
from reference_broker.cluster.link.heartbeats import STRICT, Report
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.lane import OWNER_KINDS, Lane
from reference_broker.cluster.link.link import GREETING_S, Link
from reference_broker.testing.mesh_net import MeshNet, MeshNode


def _two(**secrets: bytes) -> tuple[MeshNet, MeshNode, MeshNode]:
    """Two threads without their meshes: the test says which links there are."""
    net = MeshNet("a", "b")
    for number, name in enumerate("ab", start=1):
        net.nodes[name] = MeshNode(net, name, number, secrets.get(name, b"secret"))
    a, b = net.linked().nodes.values()
    return net, a, b


def _only_heartbeats(net: MeshNet) -> tuple[Link, Link]:
    """The ends of the connection of heartbeats."""
    (wire,) = [each for each in net.wires if each.purpose is Purpose.HEARTBEATS]
    return wire.dialled, wire.accepted


def test_they_have_the_number_of_their_link() -> None:
    net, a, b = _two()
    for node, link in zip((b, a), _only_heartbeats(net)[::-1], strict=True):
        other = "a" if node is b else "b"
        assert node.mesh.links[other].peer.link_id == link.peer.link_id
        assert link.peer.purpose == Purpose.HEARTBEATS


def test_they_tell_the_latest_that_the_loop_has_handed_over_and_the_clock() -> None:
    net, a, b = _two()
    b.wall_off_ms = 300
    for applied in (5, 9):
        b.heartbeats.say(Report(applied_revision=applied, leads=4))
        net.pass_time(STRICT.interval_s + 0.1)
        heard = a.mesh.last_heard["b"]
        assert heard.report[:2] == (applied, 4)
    net.pass_time(1)
    heard = a.mesh.last_heard["b"]
    assert heard.apart_ms == pytest.approx(300, abs=60)


def test_the_thread_goes_on_for_3_s_and_not_longer_while_the_loop_stands() -> None:
    net, _, b = _two()
    net.pass_time(1)
    b.stands = True
    _, accepted = _only_heartbeats(net)
    net.pass_time(STANDING_S - 0.1)
    sent = accepted.sent_bytes(Lane.CONTROL)
    net.pass_time(0.5)
    silent = accepted.sent_bytes(Lane.CONTROL)
    assert silent - sent < 200
    net.pass_time(1)
    assert accepted.sent_bytes(Lane.CONTROL) == silent
    b.stands = False
    net.pass_time(0.5)
    assert accepted.sent_bytes(Lane.CONTROL) > silent
    assert accepted.reason == ""


def test_another_secret_is_refused_in_one_line() -> None:
    net, a, b = _two()
    link_id = a.mesh.links["b"].peer.link_id
    stranger = MeshNode(net, "a", 1, b"guessed")
    stranger.heartbeats.begin(b.mesh.links["a"].peer, a.mesh)
    net.nodes["stranger"] = stranger
    stranger.heartbeats.keep(link_id._replace(connection=2), "b:1")
    net.settle()
    wire = net.wires[-1]
    assert "different cluster secrets" in wire.accepted.reason
    assert wire.dialled.reason == f"node 'b' ended the link: {wire.accepted.reason}"
    assert "\n" not in wire.dialled.reason
    assert list(b.mesh.last_heard) == ["a"], "the link that there is was not ended by a stranger"


@pytest.mark.parametrize(
    ("connection", "node", "line"),
    [
        (2, "b", "heartbeats for connection 2 with node 'a', which is no link here"),
        (1, "b", "connection 1 of node 'a' is not newer than its connection 1"),
        (2, "c", "node 'c' was dialled, and 'b' answered: look at its --cluster-listen"),
    ],
    ids=["no link", "twice", "another node"],
)
def test_heartbeats_that_belong_to_no_link_are_refused_in_one_line(
    connection: int, node: str, line: str
) -> None:
    net, a, _ = _two()
    link_id = a.mesh.links["b"].peer.link_id
    own = a.heartbeats.links
    own._kept.clear()
    own._carried.clear()
    own.keep(link_id._replace(connection=connection, node=node), "b:1")
    net.settle()
    reason = net.wires[-1].dialled.reason
    assert line in reason
    assert "\n" not in reason


def test_nothing_but_heartbeats_is_taken() -> None:
    net, a, _ = _two()
    dialled, accepted = _only_heartbeats(net)
    dialled.send(Lane.CONTROL, OWNER_KINDS, (b"x",))
    net.settle()
    assert "only heartbeats may come" in accepted.reason
    assert list(a.mesh.links) == []


def test_handshakes_that_never_end_are_bounded_in_number_and_time() -> None:
    net, _, b = _two()
    links = b.heartbeats.links
    accepted = [links.accepted() for _ in range(ACCEPTED_MAX)]
    assert None not in accepted
    assert links.accepted() is None
    for link in accepted:
        assert link is not None
        link.tick(net.now() + GREETING_S)
        assert link.reason == "the handshake took longer than 5 s"
    assert links.accepted() is not None


def test_the_end_is_told_to_all_and_to_nobody_here() -> None:
    net, a, b = _two()
    dialled, accepted = _only_heartbeats(net)
    a.heartbeats.links.close("the node is stopping")
    a.heartbeats.links.close("the node is stopping")
    assert dialled in a.heartbeats.shell.looked_at
    assert [what for _, what in a.heartbeats.news if isinstance(what, str)] == []
    assert a.heartbeats.links.accepted() is None
    net.settle()
    assert accepted.reason == "node 'a' ended the link: the node is stopping"
    assert "its heartbeats: node 'a' ended the link: the node is stopping" in b.reports[-1]
