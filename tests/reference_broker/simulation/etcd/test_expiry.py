from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.etcd.expiry import SCAN_US, LeaseExpiry
from reference_broker.simulation.etcd.store import EtcdStore
from reference_broker.simulation.events.clock import SimulatedClock

SECOND_US = 1_000_000
TTL_S = 5


class Leases:
    """A store with one lease."""

    def __init__(self, seed: int) -> None:
        self.clock = SimulatedClock()
        self.store = EtcdStore()
        self.serving = True
        self.ended_us = 0
        self.expiry = LeaseExpiry(
            self.clock, Random(seed), self.store, lambda: self.serving, self._revoke
        )
        self.store.grant(7, TTL_S)
        self.expiry.granted(7)

    def _revoke(self, lease: int) -> None:
        assert self.store.revoke(lease)
        self.ended_us = self.clock.now_us


@pytest.mark.parametrize("seed", range(5))
def test_a_ttl_is_a_lower_bound(seed: int) -> None:
    leases = Leases(seed)
    leases.clock.run(60 * SECOND_US)
    assert TTL_S * SECOND_US <= leases.ended_us <= TTL_S * SECOND_US + SCAN_US


def test_a_renewal_makes_it_last_longer() -> None:
    leases = Leases(1)
    for seconds in (3, 6, 9):
        leases.clock.run(seconds * SECOND_US)
        leases.expiry.renewed(7)
    leases.clock.run(60 * SECOND_US)
    assert 14 * SECOND_US <= leases.ended_us <= 14 * SECOND_US + SCAN_US


def test_none_ends_while_etcd_is_away() -> None:
    leases = Leases(1)
    leases.serving = False
    leases.clock.run(60 * SECOND_US)
    assert leases.ended_us == 0
    leases.serving = True
    leases.expiry.renew_all()
    leases.clock.run(120 * SECOND_US)
    assert 65 * SECOND_US <= leases.ended_us <= 65 * SECOND_US + SCAN_US


def test_one_that_was_revoked_is_left_alone() -> None:
    leases = Leases(1)
    leases.store.revoke(7)
    leases.clock.run(60 * SECOND_US)
    assert leases.ended_us == 0
