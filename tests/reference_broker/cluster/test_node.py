"""node: from joining to serving, and to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from reference_broker.cluster.coordinator import Delete, Event
from reference_broker.cluster.membership.joining import Applicant, FolderMark, Joined
from reference_broker.cluster.membership.records import MemberRecord, NodeState, encoded
from reference_broker.cluster.metadata.keys import MEMBERS
from reference_broker.cluster.node import NODE_TABLE, ClusterNode, NodeEvent, NodeStage
from reference_broker.core.base.transitions import IllegalTransition
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.simulation.etcd.model import EtcdModel
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.testing.hand_clock import HandClock

APPLICANT = Applicant(
    cluster="prod",
    node="a",
    secret_fingerprint="f00",
    run=1,
    start_id="s1",
    position=0,
    amqp="",
    http="",
    mark=None,
    new_id="c1",
    new_disk_id="d1",
    wall_ms=0,
)


class Etcd:
    """A simulated etcd without faults, and the time of all."""

    def __init__(self) -> None:
        self.clock, self.timers = SimulatedClock(), HandClock()
        self.model = EtcdModel(self.clock, Random(1))

    def forward(self, seconds: int) -> None:
        for _ in range(seconds * 10):
            self.clock.run(self.clock.now_us + 100_000)
            self.timers.forward(0.1)


class Process:
    """The process around a node."""

    def __init__(
        self,
        etcd: Etcd,
        applicant: Applicant = APPLICANT,
        *,
        loads_itself: bool = True,
        prepares_itself: bool = True,
    ) -> None:
        self.loads_itself = loads_itself
        self.prepares_itself = prepares_itself
        self.loaded_at = 0
        self.marks: list[FolderMark] = []
        self.served: list[Joined] = []
        self.ends: list[str] = []
        self.reports: list[str] = []
        budget = Budget()
        self.node = ClusterNode(
            etcd.model.connect(applicant.node),
            applicant,
            "127.0.0.1:25672",
            Portions(budget),
            budget,
            etcd.timers.after,
            self,
        )
        self.node.start()

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        self.marks.append(mark)
        marked()

    def joined(self, joined: Joined) -> None:
        self.members = [joined.member]
        if self.loads_itself:
            self.node.load()

    def loaded(self) -> None:
        self.loaded_at = self.node.view.revision.value
        if self.prepares_itself:
            self.node.prepared()

    def serving(self, joined: Joined) -> None:
        self.served.append(joined)

    def ended(self, reason: str) -> None:
        self.ends.append(reason)

    def waits(self, text: str) -> None:
        self.reports.append(text)

    def report(self, text: str) -> None:
        self.reports.append(text)


def test_it_serves_when_its_view_has_its_own_key() -> None:
    etcd = Etcd()
    process = Process(etcd)
    assert not process.served
    etcd.forward(3)
    assert process.node.stage is NodeStage.SERVING
    assert [joined.member.number for joined in process.served] == [1]
    assert process.node.view.revision_of("live/a") > process.served[0].member_revision
    assert process.marks == [FolderMark("c1", "a", "d1")]


def test_nobody_knows_of_it_until_its_process_is_prepared() -> None:
    etcd = Etcd()
    process = Process(etcd, prepares_itself=False)
    etcd.forward(3)
    assert process.node.stage is NodeStage.PREPARING
    assert process.node.view.revision_of("members/a") == process.loaded_at
    assert process.node.view.revision_of("live/a") == 0
    process.node.prepared()
    etcd.forward(3)
    assert [joined.member.number for joined in process.served] == [1]


def test_one_that_ended_meanwhile_is_prepared_for_nothing() -> None:
    etcd = Etcd()
    process = Process(etcd, prepares_itself=False)
    etcd.forward(3)
    process.node.close()
    process.node.prepared()
    etcd.forward(3)
    assert process.node.stage is NodeStage.ENDED


def test_others_see_it_and_wait_for_it() -> None:
    etcd = Etcd()
    first = Process(etcd)
    etcd.forward(3)
    second = Process(etcd, replace(APPLICANT, node="b", start_id="s2", new_disk_id="d2"))
    etcd.forward(3)
    assert list(first.node.barrier.awaited) == ["b"]
    assert list(second.node.barrier.awaited) == ["a"]
    revision = first.node.view.revision.value
    ticket = first.node.barrier.ticket(revision)
    assert first.node.barrier.passed.value < ticket
    first.node.heard("b", revision)
    assert first.node.barrier.passed.value == ticket


def test_one_that_stops_is_gone_at_once() -> None:
    etcd = Etcd()
    first = Process(etcd)
    second = Process(etcd, replace(APPLICANT, node="b", start_id="s2", new_disk_id="d2"))
    etcd.forward(4)
    second.node.close()
    second.node.close()
    etcd.forward(1)
    assert first.node.barrier.awaited == {}
    assert second.ends == []


def test_one_that_may_not_join_ends_with_the_reason() -> None:
    etcd = Etcd()
    Process(etcd)
    etcd.forward(3)
    wrong = Process(etcd, replace(APPLICANT, node="b", secret_fingerprint="bad"))
    etcd.forward(3)
    assert wrong.node.stage is NodeStage.ENDED
    assert len(wrong.ends) == 1
    assert "--cluster-secret-file" in wrong.ends[0]


def test_one_that_was_replaced_ends_with_the_reason() -> None:
    etcd = Etcd()
    first = Process(etcd)
    etcd.forward(3)
    later = replace(APPLICANT, run=2, start_id="s2", mark=first.marks[0])
    second = Process(etcd, later)
    etcd.forward(5)
    assert (first.node.stage, second.node.stage) == (NodeStage.ENDED, NodeStage.SERVING)
    assert ["was replaced" in reason for reason in first.ends] == [True]
    etcd.forward(10)
    assert second.node.view.revision_of("live/a") > 0


def _forget(first: Process, node: str) -> None:
    """Have the first node remove the row of another one."""
    first.node.proposals.propose((), (Delete(MEMBERS + node),), lambda answered: None)


def test_one_that_was_forgotten_ends_with_the_reason() -> None:
    etcd = Etcd()
    first = Process(etcd)
    second = Process(etcd, replace(APPLICANT, node="b", start_id="s2", new_disk_id="d2"))
    etcd.forward(4)
    _forget(first, "b")
    etcd.forward(1)
    assert (first.node.stage, second.node.stage) == (NodeStage.SERVING, NodeStage.ENDED)
    assert [reason.startswith("the cluster has forgotten the node 'b'") for reason in second.ends]
    assert len(second.ends) == 1
    assert first.node.barrier.awaited == {}, "its key was on a lease that it has given back"


def test_one_that_was_forgotten_before_it_has_read_anything_serves_nobody() -> None:
    etcd = Etcd()
    first = Process(etcd)
    etcd.forward(4)
    second = Process(
        etcd, replace(APPLICANT, node="b", start_id="s2", new_disk_id="d2"), loads_itself=False
    )
    etcd.forward(4)
    _forget(first, "b")
    etcd.forward(1)
    second.node.load()
    etcd.forward(4)
    assert (second.node.stage, second.served, len(second.ends)) == (NodeStage.ENDED, [], 1)


def test_heartbeats_of_one_that_is_no_member_count_for_nothing() -> None:
    etcd = Etcd()
    process = Process(etcd)
    etcd.forward(4)
    process.node.heard("b", 7)
    assert process.node.barrier.awaited == {}


def _join(node: ClusterNode, name: str, revision: int) -> None:
    """The view of ``node`` sees that another one of that name has joined."""
    member = MemberRecord(9, f"disk of {name}", 1, "s9", 0, "", "")
    list(node.view.take([Event(f"members/{name}", encoded(member), revision)]))


def test_heartbeats_that_came_before_the_row_of_their_node_count_with_it() -> None:
    etcd = Etcd()
    node = Process(etcd).node
    etcd.forward(4)
    for name, applied in (("b", 7), ("c", 8)):
        node.heard(name, applied)
    node.unheard("c")
    revision = node.view.revision.value + 1
    _join(node, "b", revision)
    _join(node, "c", revision)
    node.view.reach(revision)
    assert node.barrier.awaited == {"b": 7}


def test_a_new_disk_whose_runs_begin_anew_takes_the_place_of_a_lost_one() -> None:
    etcd = Etcd()
    first = Process(etcd, replace(APPLICANT, run=3))
    etcd.forward(4)
    first.node.close()
    etcd.forward(1)
    second = Process(etcd, replace(APPLICANT, start_id="s2", new_disk_id="d2"))
    etcd.forward(4)
    assert (second.ends, second.node.stage) == ([], NodeStage.SERVING)
    assert second.served[0].lost_disk_id == "d1"


def test_others_are_told_that_it_is_draining_and_up_again() -> None:
    etcd = Etcd()
    first = Process(etcd)
    second = Process(etcd, replace(APPLICANT, node="b", start_id="s2", new_disk_id="d2"))
    etcd.forward(4)
    told: list[str] = []
    for state in (NodeState.DRAINING, NodeState.UP):
        for time in ("first", "again"):
            second.node.drain(state, lambda time=time: told.append(time))  # type: ignore[misc]
            etcd.forward(1)
        assert first.node.live_nodes.by_name["b"].state is state
    assert told == ["first", "again"] * 2
    second.node.drain(NodeState.DRAINING, lambda: told.append("too late"))
    second.node.close()
    etcd.forward(1)
    assert "too late" not in told


def test_it_says_why_it_waits_for_etcd() -> None:
    etcd = Etcd()
    etcd.model.server.go_away(20_000_000)
    process = Process(etcd)
    etcd.forward(15)
    assert not process.served
    assert process.reports
    assert all(text.startswith("waiting for etcd: ") for text in process.reports)
    etcd.forward(30)
    assert process.node.stage is NodeStage.SERVING


def test_the_table_is_the_picture() -> None:
    for stage in NodeStage:
        for event in NodeEvent:
            if not NODE_TABLE.allows(stage, event):
                with pytest.raises(IllegalTransition):
                    NODE_TABLE.after(stage, event)
    assert {NodeStage.JOINING, *NODE_TABLE.transitions.values()} == set(NodeStage)
