from __future__ import annotations

from collections import Counter

from reference_broker.simulation.etcd.profile import MIXED, PROFILES, EtcdFault, etcd_profile_of


def test_every_profile_comes_up_and_most_seeds_are_mixed() -> None:
    names = Counter(etcd_profile_of(seed).name for seed in range(200))
    assert set(names) == {profile.name for profile in PROFILES}
    assert names.most_common(1)[0][0] == MIXED.name


def test_every_kind_strikes_somewhere() -> None:
    assert set(MIXED.weights) == set(EtcdFault)
