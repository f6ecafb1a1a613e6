"""orphans: what goes with a node goes when its key and heartbeats are gone, or in another run."""

from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.definitions.orphans import LOOK_S, Orphans
from reference_broker.cluster.definitions.placement import NodeRun
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.records import LiveRecord, NodeState, encoded
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.keys import LIVE
from reference_broker.cluster.metadata.view import View
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.testing.hand_clock import HandClock

FIRST = NodeRun("b", 1)
UNITS = 100


class Rig:
    """The orphans that node ``a`` knows of."""

    def __init__(self) -> None:
        self.clock, self.view = HandClock(), View()
        self.live_nodes = LiveNodes("a", Barrier(self.view), print)
        self.budget = Budget(UNITS)
        self.work = Portions(self.budget)
        self.orphans = Orphans(self.live_nodes, self, self.work, self.budget, self.clock.after)
        self.view.follow(LIVE, self.orphans)
        self.view.follow(LIVE, self.live_nodes)
        self.added: list[tuple[str, str | None]] = []
        self.see(1)
        self.orphans.entered("queue/%2F/q", FIRST)
        self.clock.forward(0.1)
        assert self.added == []

    def add(self, key: str, guard: str | None = None) -> None:
        self.added.append((key, guard))

    def see(self, run: int | None) -> None:
        """The key of ``b`` is written, or gone."""
        value = None if run is None else encoded(LiveRecord(run, NodeState.UP, ""))
        list(self.view.take([Event("live/b", value, 5)]))
        self.clock.forward(0.1)


def test_a_node_that_is_gone_leaves_its_own() -> None:
    rig = Rig()
    rig.see(None)
    assert rig.added == [("queue/%2F/q", "live/b")]


def test_one_whose_heartbeats_come_does_not_until_they_end() -> None:
    rig = Rig()
    rig.live_nodes.heard("b")
    rig.see(None)
    rig.clock.forward(10 * LOOK_S)
    assert rig.added == []
    rig.live_nodes.unheard("b")
    rig.clock.forward(LOOK_S + 0.1)
    assert rig.added == [("queue/%2F/q", "live/b")]


def test_another_run_leaves_those_of_the_run_before() -> None:
    rig = Rig()
    rig.live_nodes.heard("b")
    rig.see(2)
    assert rig.added == [("queue/%2F/q", "live/b")]
    rig.added.clear()
    rig.orphans.left("queue/%2F/q", FIRST)
    rig.orphans.entered("queue/%2F/new", NodeRun("b", 2))
    rig.see(2)
    assert rig.added == []


def test_what_is_gone_is_no_orphan() -> None:
    rig = Rig()
    for _ in range(2):
        rig.orphans.left("queue/%2F/q", FIRST)
    rig.see(None)
    assert rig.added == []


@pytest.mark.parametrize("is_back", [True, False])
def test_many_are_handed_over_in_portions_unless_the_node_is_back(is_back: bool) -> None:
    rig = Rig()
    for number in range(3 * UNITS):
        rig.orphans.entered(f"queue/%2F/{number}", FIRST)
    rig.see(None)
    assert len(rig.added) == UNITS
    if is_back:
        rig.see(1)
    while rig.work:
        rig.budget.refill()
        rig.work.run()
    assert len(rig.added) == (UNITS if is_back else 3 * UNITS + 1)
