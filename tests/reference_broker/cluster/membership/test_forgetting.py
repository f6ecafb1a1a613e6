"""forgetting: one transaction, for a node that is down, and whoever comes back in time stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_broker.cluster.coordinator import Compare, Delete, Event, Lost, Put, Refused, Won
from reference_broker.cluster.membership.forgetting import Forgetting
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.members import Members
from reference_broker.cluster.membership.records import (
    LiveRecord,
    MemberRecord,
    NodeState,
    encoded,
)
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.keys import LIVE, MEMBERS
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.metadata.view import View
from reference_broker.errors import MemberStays, NoSuchMember
from reference_broker.testing.hand_clock import HandClock
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator

MEMBER = MemberRecord(2, "disk of b", 3, "s", 0, "", "")


class Node:
    """Node a, which has seen node b join at revision 5, and leave."""

    def __init__(self) -> None:
        self.name = "a"
        self.etcd, self.view, clock = ScriptedCoordinator(), View(), HandClock()
        self.live_nodes = LiveNodes("a", Barrier(self.view), print)
        self.view.follow(LIVE, self.live_nodes)
        members = Members(print)
        self.view.follow(MEMBERS, members)
        self.links: dict[str, object] = {}
        self.queues = {"b": 0}
        self.proposals = Proposals(
            self.etcd, "", self.view, clock.after, "a", 1, lambda: None, lambda *_: None
        )
        self.forgetting = Forgetting(
            self, members.by_name, self.links, lambda node: self.queues[node]
        )
        self.see(Event("members/a", encoded(replace(MEMBER, disk_id="disk of a")), 4))
        self.see(Event("members/b", encoded(MEMBER), 5))
        self.see(Event("proposals/b", b"3 9", 6))
        self.proposals.begin()
        self.etcd.answer(Won(6))

    def see(self, event: Event) -> None:
        list(self.view.take([event]))
        self.view.reach(event.revision)


def test_its_row_and_its_number_go_and_its_disk_is_noted() -> None:
    node = Node()
    agreement = node.forgetting.forget("b", accepts_loss=False)
    transaction = node.etcd.asked[0].transaction
    assert transaction.compares[1:] == (
        Compare("members/b", 5),
        Compare("proposals/b", 6),
        Compare("live/b", 0),
    )
    assert transaction.changes[1:] == (
        Delete("members/b"),
        Delete("proposals/b"),
        Put("forgotten/disk of b", b"b"),
    )
    ends: list[bool] = []
    node.etcd.answer(Won(7))
    agreement.then(lambda: ends.append(agreement.is_agreed))
    assert ends == [], "the view does not have it"
    node.see(Event("members/b", None, 7))
    assert ends == [True]
    with pytest.raises(NoSuchMember, match="no node 'b' in the cluster"):
        node.forgetting.forget("b", accepts_loss=False)


def test_one_that_comes_back_in_time_stays() -> None:
    node = Node()
    agreement = node.forgetting.forget("b", accepts_loss=False)
    node.see(Event("live/b", encoded(LiveRecord(4, NodeState.UP, "")), 7))
    node.etcd.answer(Lost(7))
    assert (agreement.is_agreed, agreement.failure) == (False, None)
    with pytest.raises(MemberStays, match="node 'b' is there: stop it"):
        node.forgetting.forget("b", accepts_loss=True)


def test_without_etcd_nothing_is_done_and_the_reason_is_said() -> None:
    node = Node()
    agreement = node.forgetting.forget("b", accepts_loss=False)
    node.etcd.answer(Refused("too large", lasting=True))
    assert not agreement.is_agreed
    assert agreement.failure is not None
    assert "was not made: too large" in agreement.failure.text


def test_one_that_is_there_stays() -> None:
    node = Node()
    with pytest.raises(MemberStays, match="'a' can't forget itself"):
        node.forgetting.forget("a", accepts_loss=True)
    node.live_nodes.heard("b")
    with pytest.raises(MemberStays, match="'b' is there"):
        node.forgetting.forget("b", accepts_loss=True)
    node.live_nodes.unheard("b")
    node.links["b"] = object()  # it is starting: it does not serve yet
    with pytest.raises(MemberStays, match="'b' is there"):
        node.forgetting.forget("b", accepts_loss=True)
    assert not node.etcd.asked


def test_one_with_durable_queues_goes_only_if_their_loss_is_accepted() -> None:
    node = Node()
    node.queues["b"] = 3
    with pytest.raises(MemberStays, match=r"home of 3 durable queues.*accept the data loss"):
        node.forgetting.forget("b", accepts_loss=False)
    node.forgetting.forget("b", accepts_loss=True)
    assert len(node.etcd.asked) == 1


def test_whoever_waits_is_told_when_its_queues_are_gone() -> None:
    node, emptied = Node(), list[str]()
    node.queues["b"] = 2
    for name in ("first", "second"):
        node.forgetting.when_emptied("b", lambda name=name: emptied.append(name))  # type: ignore[misc]
    node.queues["b"] = 1
    node.view.reach(8)
    assert emptied == []
    node.queues["b"] = 0
    node.view.reach(9)
    node.forgetting.when_emptied("b", lambda: emptied.append("third"))
    node.view.reach(10)
    assert emptied == ["first", "second", "third"]
