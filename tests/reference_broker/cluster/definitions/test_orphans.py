"""orphans: what goes with a node goes when its key and heartbeats are gone, or in another run."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.definitions.orphans import LOOK_S, Orphans
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.records import LiveRecord, NodeState, encoded
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.keys import LIVE
from reference_broker.cluster.metadata.view import View
from reference_broker.testing.hand_clock import HandClock


class Rig:
    """The orphans that node ``a`` knows of."""

    def __init__(self) -> None:
        self.clock, self.view = HandClock(), View()
        self.live_nodes = LiveNodes("a", Barrier(self.view), print)
        self.orphans = Orphans(self.live_nodes, self, self.clock.after)
        self.view.follow(LIVE, self.orphans)
        self.view.follow(LIVE, self.live_nodes)
        self.added: list[tuple[str, str | None]] = []
        self.see(1)
        self.orphans.entered("queue/%2F/q", "b", 1)
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
    rig.orphans.left("queue/%2F/q", "b")
    rig.orphans.entered("queue/%2F/new", "b", 2)
    rig.see(2)
    assert rig.added == []


def test_what_is_gone_is_no_orphan() -> None:
    rig = Rig()
    for _ in range(2):
        rig.orphans.left("queue/%2F/q", "b")
    rig.see(None)
    assert rig.added == []
