from __future__ import annotations

from reference_broker.simulation.replication_model.profile import LEANING_TO, PROFILES, Step


def test_every_profile_takes_every_step() -> None:
    assert all(set(profile.weights) == set(Step) for profile in PROFILES)
    assert len({profile.name for profile in PROFILES}) == len(PROFILES)


def test_broken_rules_are_looked_for_in_profiles_that_are_clean_without_them() -> None:
    """``whole/test_rules.py`` plays all of ``PROFILES`` as designed."""
    assert all(profile in PROFILES for profile in LEANING_TO.values())
