"""relay: a node to which etcd tells nothing is told by the others, once and in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_broker.cluster.coordinator import Changed, Event, Page, Progressed, WatchEnded
from reference_broker.cluster.metadata.event_octets import encode_transactions
from reference_broker.cluster.metadata.feed import Feed
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.questions.asking import ASK_S, Fate
from reference_broker.cluster.relay import KIND, PATIENCE_S, PORTION_BYTES, Relay
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.testing.mesh_net import MeshNet
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator

P = "/mqkit/c/"
CUT = WatchEnded("the connection broke")


class Node:
    """The feed and the relay of one node, whose etcd is the test's. It has read everything at
    revision 5, and watches."""

    def __init__(self, net: MeshNet, name: str) -> None:
        self.net, self.name = net, name
        self.etcd, self.view = ScriptedCoordinator(), View()
        self.reports: list[str] = []
        self.mesh = net.nodes[name].mesh
        budget = Budget(1_000_000)
        self.feed = Feed(
            self.etcd,
            P,
            self.view,
            Portions(budget),
            budget,
            net.clock.after,
            self.reports.append,
            lambda seen, found: self.reports.append(f"gone back from {seen} to {found}"),
        )
        self.relay = Relay(self.feed, net.clock.after, self.reports.append)
        self.relay.attach(self.mesh.asking, self.mesh.answers)
        self.feed.start()
        self.etcd.answer_read(Page((), 5, more=False))

    def watched(self, *news: Changed | Progressed | WatchEnded) -> None:
        """Its watch tells this."""
        for each in news:
            self.etcd.watches[-1].tell(each)

    def hears(self, node: str, applied: int) -> None:
        """A heartbeat of ``node`` comes."""
        self.relay.heard(node, applied)
        self.net.settle()

    @property
    def answered(self) -> int:
        """The questions of this node that were answered."""
        return self.mesh.asking.fates[Fate.ANSWERED]

    @property
    def asked(self) -> int:
        """The questions that this node has asked, and whose fate is known."""
        return self.mesh.asking.fates.total()


class Nodes:
    """Some nodes that are linked. Of ``a`` etcd is gone, where it ``is_cut``."""

    def __init__(self, *names: str, is_cut: bool = True) -> None:
        self.net = MeshNet(*names).linked()
        self.nodes = {name: Node(self.net, name) for name in names}
        self.a, self.b = self.nodes["a"], self.nodes["b"]
        if is_cut:
            self.a.watched(CUT)


def _change(revision: int, *keys: str, value: bytes | None = b"v") -> Changed:
    return Changed(revision, tuple(Event(P + key, value, revision) for key in keys))


def test_a_node_without_news_of_etcd_asks_at_once_for_what_it_was_not_told() -> None:
    nodes = Nodes("a", "b")
    a = nodes.a
    nodes.b.watched(_change(6, "x", "y"), _change(8, "x", value=None), Progressed(9))
    a.hears("b", 9)
    assert list(a.view.keys()) == ["y"]
    assert (a.view.revision.value, a.feed.told, a.relay.taken) == (9, 9, 2)
    assert a.asked == a.answered == 1
    a.hears("b", 9)
    assert a.asked == 1


def test_a_watch_goes_on_after_what_a_peer_has_told() -> None:
    nodes = Nodes("a", "b")
    nodes.b.watched(_change(6, "x"))
    nodes.a.hears("b", 6)
    nodes.net.clock.forward(0.2)
    assert nodes.a.etcd.watches[-1].after == 6
    nodes.b.watched(_change(7, "y"))
    nodes.a.hears("b", 7)
    # Begun after 6, the watch tells what has come another way meanwhile.
    nodes.a.watched(_change(7, "y", value=None), _change(8, "z"))
    assert list(nodes.a.view.keys()) == ["x", "y", "z"]


def test_a_watch_that_is_well_has_a_moment_to_tell_it_first() -> None:
    nodes = Nodes("a", "b", is_cut=False)
    for node in (nodes.b, nodes.a):
        node.hears("b", 6)
        node.watched(_change(6, "x"))
    nodes.net.pass_time(2 * PATIENCE_S)
    assert nodes.a.asked == 0


def test_a_watch_that_says_nothing_is_helped() -> None:
    nodes = Nodes("a", "b", is_cut=False)
    nodes.b.watched(_change(6, "x"))
    nodes.a.hears("b", 6)
    nodes.net.pass_time(PATIENCE_S - 0.1)
    assert nodes.a.asked == 0
    nodes.b.watched(_change(7, "y"))
    nodes.net.pass_time(0.2)
    assert list(nodes.a.view.keys()) == ["x", "y"]
    assert nodes.a.feed.trouble is None


def test_a_watch_that_says_nothing_since_it_was_helped_is_not_waited_for_again() -> None:
    nodes = Nodes("a", "b", is_cut=False)
    nodes.b.watched(_change(6, "x"))
    nodes.a.hears("b", 6)
    nodes.net.pass_time(PATIENCE_S + 0.1)
    nodes.b.watched(_change(7, "y"))
    nodes.a.hears("b", 7)
    assert list(nodes.a.view.keys()) == ["x", "y"]

    nodes.a.watched(_change(6, "x"))
    nodes.b.watched(_change(8, "z"))
    nodes.a.hears("b", 8)
    assert list(nodes.a.view.keys()) == ["x", "y"]
    nodes.net.pass_time(PATIENCE_S + 0.1)
    assert list(nodes.a.view.keys()) == ["x", "y", "z"]


def test_a_watch_that_is_only_ever_a_little_behind_is_left_alone() -> None:
    nodes = Nodes("a", "b", is_cut=False)
    for revision in range(6, 26):
        nodes.a.hears("b", revision)
        nodes.net.pass_time(0.1)
        nodes.a.watched(_change(revision, "x"))
    nodes.net.pass_time(2 * PATIENCE_S)
    assert nodes.a.asked == 0


def test_it_asks_again_while_there_is_more() -> None:
    nodes = Nodes("a", "b")
    for revision in range(6, 16):
        nodes.b.watched(
            Changed(revision, (Event(f"{P}{revision}", b"v" * (PORTION_BYTES // 3), revision),))
        )
    nodes.a.hears("b", 15)
    assert len(nodes.a.view) == 10
    assert nodes.a.view.revision.value == 15
    assert nodes.a.answered == 4


def test_one_question_at_a_time() -> None:
    nodes = Nodes("a", "b")
    replies = _answers_later(nodes.b)
    nodes.a.hears("b", 6)
    nodes.a.hears("b", 7)
    assert len(replies) == 1
    replies[0]({"reached": 6, "more": False}, b"")
    nodes.net.settle()
    assert len(replies) == 2


def _answers_later(node: Node) -> list[Callable[[dict[str, Any], bytes], None]]:
    replies: list[Callable[[dict[str, Any], bytes], None]] = []
    node.mesh.answers.answer_with(KIND, lambda _, arguments, reply: replies.append(reply))
    return replies


def test_the_next_peer_is_asked_where_one_does_not_have_the_events_any_more() -> None:
    nodes = Nodes("a", "b", "c")
    c = nodes.nodes["c"]
    nodes.b.watched(_change(6, "x"))
    c.watched(WatchEnded("compacted", compacted=True))
    nodes.net.clock.forward(0.2)
    c.etcd.answer_read(Page((), 6, more=False))
    nodes.a.relay.heard("b", 6)
    nodes.a.hears("c", 6)
    assert list(nodes.a.view.keys()) == ["x"]

    nodes.b.watched(_change(7, "y"))
    c.watched(_change(7, "y"), _change(8, "z"))
    nodes.a.relay.heard("b", 7)
    nodes.a.hears("c", 8)
    assert list(nodes.a.view.keys()) == ["x", "y", "z"]


def test_where_nobody_has_them_nobody_is_asked_for_a_while() -> None:
    nodes = Nodes("a", "b", "c")
    for node in (nodes.b, nodes.nodes["c"]):
        node.feed.history.begin(9)
    nodes.a.relay.heard("b", 9)
    for _ in range(5):
        nodes.a.hears("c", 9)
    assert nodes.a.asked == 2
    nodes.net.pass_time(PATIENCE_S + 0.1)
    assert nodes.a.asked == 4
    assert nodes.a.feed.told == 5


def test_a_peer_that_says_nothing_is_followed_by_the_next() -> None:
    nodes = Nodes("a", "b", "c")
    _answers_later(nodes.nodes["c"])
    nodes.b.watched(_change(6, "x"))
    nodes.a.relay.heard("c", 7)
    nodes.a.hears("b", 6)
    assert len(nodes.a.view) == 0
    nodes.net.pass_time(ASK_S + 0.1)
    assert list(nodes.a.view.keys()) == ["x"]


def test_a_peer_whose_link_is_gone_is_not_asked() -> None:
    nodes = Nodes("a", "b")
    nodes.b.watched(_change(6, "x"))
    nodes.a.relay.unheard("b")
    nodes.a.hears("c", 7)  # which has no link
    assert nodes.a.asked == 1
    assert nodes.a.answered == 0
    nodes.a.relay.unheard("c")
    nodes.net.pass_time(2 * PATIENCE_S)
    assert nodes.a.asked == 1


GOOD = encode_transactions([Changed(6, (Event("x", b"v", 6),))])


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ({}, GOOD),
        ({"reached": 6}, GOOD),
        ({"reached": "6", "more": False}, GOOD),
        ({"reached": True, "more": False}, b""),
        ({"reached": 1 << 70, "more": False}, GOOD),
        ({"reached": -1, "more": False}, b""),
        ({"reached": 4, "more": False}, b""),
        ({"reached": 5, "more": False}, GOOD),
        ({"reached": 6, "more": False}, GOOD[:-1]),
        ({"reached": 6, "more": False}, GOOD + GOOD),
        ({"reached": 6, "more": False}, encode_transactions([Changed(5, ())])),
    ],
    ids=range(11),
)
def test_what_cant_be_read_is_reported_once_and_nothing_of_it_is_taken(
    head: dict[str, Any], body: bytes
) -> None:
    nodes = Nodes("a", "b")
    nodes.b.mesh.answers.answer_with(KIND, lambda _, arguments, reply: reply(head, body))
    nodes.a.hears("b", 6)
    nodes.net.pass_time(3 * PATIENCE_S)
    (report,) = [each for each in nodes.a.reports if "can't be read" in each]
    assert report.startswith("node 'b' tells events of etcd that can't be read: ")
    assert (nodes.a.feed.told, len(nodes.a.view)) == (5, 0)
    nodes.a.relay.unheard("b")
    nodes.a.hears("b", 6)
    nodes.net.pass_time(2 * PATIENCE_S)
    assert len([each for each in nodes.a.reports if "can't be read" in each]) == 2


def test_a_question_that_cant_be_read_has_no_answer() -> None:
    nodes = Nodes("a", "b")
    found: list[dict[str, Any]] = []
    for arguments in ({}, {"after": "5"}, {"after": -1}, {"after": True}):
        nodes.b.relay._answer("a", arguments, lambda head, body: found.append(head))
    assert [list(head) for head in found] == [["failed"]] * 4


def test_what_comes_while_everything_is_read_anew_is_not_taken() -> None:
    nodes = Nodes("a", "b")
    replies = _answers_later(nodes.b)
    nodes.a.hears("b", 6)
    nodes.net.clock.forward(0.2)
    nodes.a.watched(WatchEnded("compacted", compacted=True))
    replies[0]({"reached": 6, "more": False}, GOOD)
    nodes.net.settle()
    assert nodes.a.feed.told == 5
    nodes.a.hears("b", 7)
    assert len(replies) == 1


def test_a_node_that_has_ended_asks_nobody() -> None:
    nodes = Nodes("a", "b", is_cut=False)
    nodes.b.watched(_change(6, "x"))
    nodes.a.hears("b", 6)
    nodes.a.relay.close()
    nodes.a.relay.close()
    nodes.net.pass_time(2 * PATIENCE_S)
    assert nodes.a.asked == 0


def test_what_a_peer_has_told_is_told_on() -> None:
    nodes = Nodes("a", "b", "c")
    nodes.b.watched(_change(6, "x"), _change(7, "y"))
    nodes.a.hears("b", 7)
    c = nodes.nodes["c"]
    c.watched(CUT)
    c.hears("a", 7)
    assert list(c.view.keys()) == ["x", "y"]
