"""presence: the node's key hangs on its lease, and is put again under another one."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Compare, Event, Lost, Put, Won
from reference_broker.cluster.membership.presence import Presence
from reference_broker.cluster.membership.records import (
    LiveRecord,
    MemberRecord,
    NodeState,
    decoded,
    encoded,
)
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.metadata.view import View
from reference_broker.testing.hand_clock import HandClock
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator

MEMBER = MemberRecord(1, "d1", 4, "s1", 700, "127.0.0.1:5672", "127.0.0.1:15672")


class Node:
    """Node a, as its presence sees it: joined at revision 5."""

    def __init__(self) -> None:
        self.etcd, self.view, self.clock = ScriptedCoordinator(), View(), HandClock()
        self.told: list[object] = []
        proposals = Proposals(
            self.etcd, "", self.view, self.clock.after, "a", 4, lambda: None, lambda *_: None
        )
        self.presence = Presence(
            "a", MEMBER, "127.0.0.1:25672", self.view, proposals, self.clock.after, self
        )
        list(self.view.take([Event("members/a", encoded(MEMBER), 5)]))
        self.view.reach(5)
        proposals.begin()
        self.etcd.answer(Won(6))

    def present(self, revision: int) -> None:
        self.told.append(revision)

    def replaced(self) -> None:
        self.told.append("replaced")

    def forgotten(self) -> None:
        self.told.append("forgotten")

    def put(self) -> Put:
        """The change that is asked for beside the one that numbers it."""
        change = self.etcd.asked[0].transaction.changes[1]
        assert isinstance(change, Put)
        return change


def test_the_key_is_put_on_the_lease_for_the_row_of_this_run() -> None:
    node = Node()
    node.presence.lease_granted(77)
    assert node.etcd.asked[0].transaction.compares[1] == Compare("members/a", 5)
    assert (node.put().key, node.put().lease) == ("live/a", 77)
    record = decoded(LiveRecord, "live/a", node.put().value)
    assert record == LiveRecord(4, NodeState.UP, "127.0.0.1:25672")
    node.etcd.answer(Won(7))
    assert node.told == [7]


def test_a_lost_lease_is_followed_by_another() -> None:
    node = Node()
    node.presence.lease_granted(77)
    node.etcd.answer(Won(7))
    node.presence.lease_ended(77)
    assert not node.etcd.asked
    node.presence.lease_granted(78)
    assert node.put().lease == 78
    node.etcd.answer(Won(8))
    assert node.told == [7, 8]


def test_an_answer_that_comes_after_the_lease_is_lost_says_nothing() -> None:
    node = Node()
    node.presence.lease_granted(77)
    node.presence.lease_ended(77)
    node.etcd.answer(Won(7))
    assert node.told == []


def test_a_key_that_could_not_be_put_is_put_again() -> None:
    node = Node()
    node.presence.lease_granted(77)
    # The row was written meanwhile: its position is, each ten seconds.
    list(node.view.take([Event("members/a", encoded(MEMBER), 9)]))
    node.view.reach(9)
    node.etcd.answer(Lost(9))
    node.clock.forward(0.2)
    assert node.etcd.asked[0].transaction.compares[1] == Compare("members/a", 9)
    node.etcd.answer(Won(10))
    assert node.told == [10]


def test_draining_is_told_once() -> None:
    node = Node()
    node.presence.lease_granted(77)
    node.etcd.answer(Won(7))
    node.presence.drain(NodeState.DRAINING)
    node.presence.drain(NodeState.DRAINING)
    assert decoded(LiveRecord, "live/a", node.put().value).state is NodeState.DRAINING
    node.etcd.answer(Won(8))
    assert not node.etcd.asked
    node.presence.lease_ended(77)
    node.presence.drain(NodeState.UP)
    assert not node.etcd.asked


def test_a_row_that_is_gone_ends_it() -> None:
    node = Node()
    node.presence.lease_granted(77)
    node.etcd.answer(Won(7))
    list(node.view.take([Event("members/ab", None, 9), Event("members/a", None, 9)]))
    assert node.told == [7, "forgotten"]


def test_a_row_that_was_never_seen_has_no_key() -> None:
    node = Node()
    list(node.view.take([Event("members/a", None, 9)]))
    node.presence.lease_granted(77)
    assert not node.etcd.asked
    assert node.told == ["forgotten", "forgotten"]


def test_another_run_or_another_disk_under_the_name_ends_this_one() -> None:
    node = Node()
    for member in (
        MemberRecord(1, "d1", 4, "s1", 900, MEMBER.amqp, MEMBER.http),
        MemberRecord(1, "d1", 5, "s2", 900, MEMBER.amqp, MEMBER.http),
        MemberRecord(1, "d2", 2, "s3", 0, MEMBER.amqp, MEMBER.http),
    ):
        list(node.view.take([Event("members/a", encoded(member), 9)]))
    list(node.view.take([Event("members/ab", encoded(member), 9), Event("members/a", b"{", 9)]))
    assert node.told == ["replaced", "replaced"]
