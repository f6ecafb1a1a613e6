"""leftovers: keys of what is gone are removed in portions, by one node, and nothing else is."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Compare, Delete, Event, Lost, Won
from reference_broker.cluster.definitions.leftovers import PORTION, SWEEP_S, Leftovers
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.metadata.view import View
from reference_broker.testing.hand_clock import HandClock
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator


class Rig:
    def __init__(self, *keys: str) -> None:
        self.clock, self.etcd, self.view = HandClock(), ScriptedCoordinator(), View()
        self.proposals = Proposals(
            self.etcd, "", self.view, self.clock.after, "a", 1, lambda: None, lambda *_: None
        )
        self.sweeps = True
        self.leftovers = Leftovers(self.view, self.proposals, self.clock.after, lambda: self.sweeps)
        self.write(2, *keys)
        self.proposals.begin()
        self.etcd.answer(Won(3))

    def write(self, revision: int, *keys: str) -> None:
        list(self.view.take([Event(key, b"v", revision) for key in keys]))
        self.view.reach(revision)

    def deleted(self) -> list[str]:
        """The keys that a proposal deletes, which is under way."""
        changes = self.etcd.asked[0].transaction.changes
        return [change.key for change in changes if isinstance(change, Delete)]


def _keys(count: int) -> list[str]:
    return [f"def/k{number}" for number in range(count)]


def test_they_are_removed_in_portions() -> None:
    keys = _keys(PORTION + 3)
    rig = Rig(*keys)
    for key in keys:
        rig.leftovers.add(key.removeprefix("def/"))
    rig.clock.forward(SWEEP_S + 0.1)
    assert rig.deleted() == keys[:PORTION]
    assert Compare(keys[0], 2) in rig.etcd.asked[0].transaction.compares
    rig.etcd.answer(Won(4))
    rig.clock.forward(0.1)
    assert rig.deleted() == keys[PORTION:]
    rig.etcd.answer(Won(5))
    rig.clock.forward(5)
    assert (len(rig.leftovers), len(rig.etcd.asked)) == (0, 0)


def test_what_is_not_in_the_view_is_none_and_what_was_written_again_neither() -> None:
    rig = Rig("def/a", "def/b")
    for key in ("a", "b", "gone before"):
        rig.leftovers.add(key)
    assert len(rig.leftovers) == 2
    rig.write(5, "def/a")
    rig.clock.forward(SWEEP_S + 0.1)
    assert rig.deleted() == ["def/b"]


def test_what_was_written_meanwhile_makes_the_portion_lose_and_the_rest_goes() -> None:
    rig = Rig("def/a", "def/b")
    rig.leftovers.add("a")
    rig.leftovers.add("b")
    rig.clock.forward(SWEEP_S + 0.1)
    assert rig.deleted() == ["def/a", "def/b"]
    rig.write(5, "def/a")
    rig.etcd.answer(Lost(5))
    rig.clock.forward(0.1)
    assert rig.deleted() == ["def/b"]


def test_a_node_that_is_not_the_first_waits_until_it_is() -> None:
    rig = Rig("def/a")
    rig.sweeps = False
    rig.leftovers.add("a")
    rig.clock.forward(10)
    assert not rig.etcd.asked
    rig.sweeps = True
    rig.clock.forward(SWEEP_S + 0.1)
    assert rig.deleted() == ["def/a"]


def test_a_guard_that_was_written_keeps_the_key() -> None:
    rig = Rig("def/a", "def/b", "live/n")
    rig.leftovers.add("a", "live/n")
    rig.leftovers.add("b", "live/other")
    rig.clock.forward(SWEEP_S + 0.1)
    compares = rig.etcd.asked[0].transaction.compares
    assert Compare("live/n", 2) in compares
    assert Compare("live/other", 0) in compares
    rig.write(6, "live/n")
    rig.etcd.answer(Lost(6))
    rig.clock.forward(0.1)
    assert rig.deleted() == ["def/b"]
