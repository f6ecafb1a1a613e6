"""Profiles of faults."""

from __future__ import annotations

from collections import Counter

from reference_broker.simulation.plan.fault_profile import PROFILES, TILTED_CHANCE, profile_of

SEEDS = 500


def test_every_profile_has_its_share_of_the_seeds() -> None:
    drawn = Counter(profile_of(seed).name for seed in range(SEEDS))
    assert drawn.keys() == {profile.name for profile in PROFILES}
    tilted = SEEDS - drawn["mixed"]
    assert abs(tilted / SEEDS - TILTED_CHANCE) < 0.1
    assert min(drawn.values()) > SEEDS // 20
