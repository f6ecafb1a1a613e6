"""Nothing that was committed is lost as the rules are, and something is without each of them."""

from __future__ import annotations

from collections import Counter

import pytest

from reference_broker.simulation.replication_model.ledger import Violation
from reference_broker.simulation.replication_model.model import ReplicationModel
from reference_broker.simulation.replication_model.profile import (
    LEANING_TO,
    MIXED,
    PROFILES,
    Profile,
)
from reference_broker.simulation.replication_model.rules import BrokenRule

pytestmark = pytest.mark.slow

RUNS = 500
RUNS_LEANING = 100
RUNS_BROKEN = {
    BrokenRule.CUT_BY_MARK: 20,
    BrokenRule.COMMIT_ALONE: 20,
    BrokenRule.OUTSIDER: 20,
    BrokenRule.DISK_KEEPS_NUMBER: 50,
    BrokenRule.OLD_ELECTION: 100,
    BrokenRule.ACK_FIRST: 50,
    BrokenRule.DROP_KEEPS_NUMBER: 100,
    BrokenRule.NO_COMPARE: 100,
    BrokenRule.SHRINK_WHEN_PROPOSED: 100,
    BrokenRule.GROW_WHEN_ANSWERED: 100,
    BrokenRule.BY_READING: 150,
}
"""Runs within which each is found. Over all of them it is found five times or more often, so that a
change of the model does not hide it by chance."""

FLOORS = {
    "elections": 5_000,
    "stops": 5_000,
    "cuts": 4_000,
    "cut operations that came again": 1_000,
    "copies dropped": 5_000,
    "disks lost": 400,
    "answers lost": 2_000,
    "commits": 4_000,
    "committed operations": 20_000,
}
"""Most of what happened in 500 runs: a model that stands still would lose nothing, either."""


def play(runs: int, profile: Profile, *, candidates_ack: bool = True) -> Counter[str]:
    """Play seeds as designed, and count what happened."""
    counts = Counter[str]()
    for seed in range(runs):
        model = ReplicationModel(seed, profile=profile, candidates_ack=candidates_ack)
        try:
            model.run()
        except Violation as violation:
            violation.add_note(f"seed {seed}, profile {profile.name}")
            raise
        counts += model.counts
    print(f"{runs} runs, {profile.name}: {dict(counts)}")
    return counts


@pytest.mark.parametrize("candidates_ack", [True, False])
def test_nothing_committed_is_lost(candidates_ack: bool) -> None:
    counts = play(RUNS, MIXED, candidates_ack=candidates_ack)
    assert {name: n for name, n in counts.items() if n < FLOORS[name]} == {}
    assert set(counts) == set(FLOORS)


@pytest.mark.parametrize("profile", PROFILES[1:], ids=lambda profile: profile.name)
def test_nor_where_faults_lean_to_one_side(profile: Profile) -> None:
    counts = play(RUNS_LEANING, profile)
    assert counts["committed operations"] > RUNS_LEANING
    assert counts["elections"] > RUNS_LEANING


@pytest.mark.parametrize("broken", BrokenRule, ids=lambda broken: broken.value)
def test_every_rule_is_needed(broken: BrokenRule) -> None:
    profile = LEANING_TO.get(broken, MIXED)
    for seed in range(RUNS_BROKEN[broken]):
        try:
            ReplicationModel(seed, broken, profile).run()
        except Violation as violation:
            print(f"{broken.value}: seed {seed}, profile {profile.name}: {violation}")
            return
    pytest.fail(f"{RUNS_BROKEN[broken]} runs lost nothing without that rule")


def test_a_seed_does_the_same_again() -> None:
    first, again = ReplicationModel(7), ReplicationModel(7)
    first.run()
    again.run()
    assert first.ledger.committed == again.ledger.committed != []
    assert first.counts == again.counts
