"""isolation: who has neither etcd nor a majority for 10 s lets his clients go, and nobody else."""

from __future__ import annotations

import pytest

from reference_broker.cluster.isolation import (
    AWAY_S,
    ETCD_SILENT_S,
    ISOLATION_TABLE,
    PATIENCE_S,
    Isolation,
    IsolationEvent,
    IsolationState,
    Surroundings,
)
from reference_broker.core.base.transitions import IllegalTransition

START = 1_000.0


class Node:
    """A node of three that looks twice a second, and all that its owner was told."""

    def __init__(self, members: int = 3) -> None:
        self.now = START
        self.answers = True
        self.answered_at = START
        self.linked = members - 1
        self.members = members
        self.told: list[tuple[float, str]] = []
        self.isolation = Isolation(self, START)

    def cut_off(self, reason: str) -> None:
        self.told.append((self.now - START, reason))

    def reached(self) -> None:
        self.told.append((self.now - START, "reached"))

    def look(self) -> None:
        if self.answers:
            self.answered_at = self.now
        self.isolation.look(self.now, Surroundings(self.answered_at, self.linked, self.members))

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds * 2)):
            self.now += 0.5
            self.look()

    @property
    def state(self) -> IsolationState:
        return self.isolation.state


def _cut_off(members: int = 3) -> Node:
    node = Node(members)
    node.pass_time(5)
    node.answers, node.linked = False, 0
    return node


def test_the_table_is_complete_but_for_a_patience_that_nobody_has() -> None:
    legal = set(ISOLATION_TABLE.transitions)
    over = IsolationEvent.PATIENCE_OVER
    assert legal == {
        (state, event)
        for state in IsolationState
        for event in IsolationEvent
        if event is not over or state is IsolationState.DOUBTING
    }
    with pytest.raises(IllegalTransition):
        ISOLATION_TABLE.after(IsolationState.SERVING, over)


def test_without_either_for_ten_seconds_clients_go_once() -> None:
    node = _cut_off()
    node.pass_time(ETCD_SILENT_S - 0.5)
    assert node.state is IsolationState.SERVING, "etcd may answer yet"
    node.pass_time(PATIENCE_S - ETCD_SILENT_S)
    assert (node.state, node.told) == (IsolationState.DOUBTING, [])
    node.pass_time(0.5)
    assert node.told == [
        (
            5 + PATIENCE_S,
            "for 10 s it has reached neither etcd nor a majority of its cluster's members",
        )
    ]
    node.pass_time(60)
    assert (node.state, len(node.told)) == (IsolationState.PAUSED, 1)


@pytest.mark.parametrize("what", ["etcd", "majority"])
def test_either_is_enough_to_serve_and_to_serve_again(what: str) -> None:
    node = _cut_off()
    if what == "etcd":
        node.answers = True
    else:
        node.linked = 1
    node.pass_time(120)
    assert (node.state, node.told) == (IsolationState.SERVING, [])
    node.answers, node.linked = False, 0
    node.pass_time(30)
    assert len(node.told) == 1
    node.answers, node.linked = what == "etcd", int(what == "majority")
    node.pass_time(0.5)
    assert node.state is IsolationState.SERVING
    assert node.told[-1] == (155.5, "reached")


def test_patience_begins_anew_with_each_time_that_the_cluster_is_reached() -> None:
    node = _cut_off()
    for linked in (1, 0, 2, 0, 1):
        node.linked = 0
        node.pass_time(PATIENCE_S - 0.5)
        node.linked = max(1, linked)
        node.pass_time(0.5)
    node.linked = 0
    node.answered_at = node.now
    node.pass_time(PATIENCE_S - 0.5)
    assert node.told == []
    node.pass_time(0.5)
    assert node.state is IsolationState.PAUSED


@pytest.mark.parametrize(
    ("members", "linked", "has_majority"),
    [
        (1, 0, True),
        (2, 0, False),
        (2, 1, True),
        (3, 0, False),
        (3, 1, True),
        (4, 1, False),
        (4, 2, True),
        (5, 1, False),
        (5, 2, True),
        (6, 2, False),
        (6, 3, True),
    ],
)
def test_a_majority_is_more_than_half_with_this_node(
    members: int, linked: int, has_majority: bool
) -> None:
    assert Surroundings(0.0, linked, members).has_majority is has_majority
    node = _cut_off(members)
    node.linked = linked
    node.pass_time(60)
    assert bool(node.told) is not has_majority


def test_one_that_stood_still_itself_concludes_nothing_from_that() -> None:
    node = _cut_off()
    node.now += 3_600
    node.look()
    assert (node.state, node.told) == (IsolationState.DOUBTING, [])
    assert node.isolation.since == node.now
    node.pass_time(PATIENCE_S - 0.5)
    assert node.told == []
    node.pass_time(0.5)
    assert node.state is IsolationState.PAUSED
    node.now += AWAY_S + 0.5
    node.look()
    assert node.state is IsolationState.PAUSED, "to have been away reaches nobody"


def test_the_patience_is_given() -> None:
    node = _cut_off()
    node.isolation = Isolation(node, node.now, 0.5)
    node.answered_at = 0.0
    node.pass_time(0.5)
    assert node.told == [(5.5, node.told[0][1])]
    assert node.told[0][1].startswith("for 0.5 s")
