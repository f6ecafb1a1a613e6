"""queue_homes: how many queues each node has, and those of a forgotten node are leftovers."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.definitions.placement import NodeRun
from reference_broker.cluster.definitions.queue_homes import QueueHomes
from reference_broker.cluster.metadata.keys import MEMBERS
from reference_broker.cluster.metadata.view import View
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions

UNITS = 100


class Rig:
    """The homes that a node knows of: ``a`` and ``b`` are members."""

    def __init__(self) -> None:
        self.view, self.budget = View(), Budget(UNITS)
        self.work = Portions(self.budget)
        self.homes = QueueHomes(self.view, self, self.work, self.budget)
        self.view.follow(MEMBERS, self.homes)
        self.added: list[tuple[str, str | None]] = []
        for name in "ab":
            self.see(name, b"row")

    def add(self, key: str, guard: str | None = None) -> None:
        self.added.append((key, guard))

    def see(self, node: str, row: bytes | None) -> None:
        list(self.view.take([Event(MEMBERS + node, row, 5)]))


def test_queues_are_counted_by_home() -> None:
    rig = Rig()
    for key, home in (("x", NodeRun("a", 0)), ("y", NodeRun("b", 0)), ("z", NodeRun("b", 7))):
        rig.homes.entered(key, home)
    assert (rig.homes.by_node, rig.homes.durable_by_node) == ({"a": 1, "b": 2}, {"a": 1, "b": 1})
    for key in ("z", "z", "no queue", "y"):
        rig.homes.left(key)
    assert (rig.homes.by_node["b"], rig.homes.durable_by_node["b"]) == (0, 0)
    assert rig.added == []


def test_the_durable_queues_of_a_forgotten_node_are_left_over() -> None:
    rig = Rig()
    rig.homes.entered("x", NodeRun("a", 0))
    rig.homes.entered("y", NodeRun("b", 0))
    rig.homes.entered("z", NodeRun("b", 7))  # one that ends with a run is an orphan
    rig.see("b", b"another run")
    rig.work.run()
    assert rig.added == []
    rig.see("b", None)
    rig.work.run()
    assert rig.added == [("y", "members/b")]


def test_one_that_is_placed_there_by_who_did_not_know_is_left_over() -> None:
    rig = Rig()
    rig.homes.entered("late", NodeRun("c", 0))
    assert rig.added == [("late", "members/c")]


def test_many_are_handed_over_in_portions_until_the_node_is_back() -> None:
    rig = Rig()
    for number in range(1_000):
        rig.homes.entered(str(number), NodeRun("b", 0))
    rig.see("b", None)
    rig.work.run()
    first = len(rig.added)
    assert 0 < first <= UNITS
    rig.budget.refill()
    rig.work.run()
    assert first < len(rig.added) < 1_000
    rig.see("b", b"joined anew")
    second = len(rig.added)
    while rig.work:
        rig.budget.refill()
        rig.work.run()
    assert len(rig.added) == second
