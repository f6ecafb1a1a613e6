"""The time of leases: when each runs out, as etcd's leader counts it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from reference_broker.simulation.etcd.store import EtcdStore
from reference_broker.simulation.events.clock import SimulatedClock

SCAN_US = 500_000
"""Microseconds by which a lease may outlive its TTL: etcd looks twice a second."""

_US_PER_S = 1_000_000


class LeaseExpiry:
    """Has leases of ``store`` revoked once they were not renewed for their TTL, and a bit longer:
    a TTL is a lower bound. None is, while ``serving`` says no."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        store: EtcdStore,
        serving: Callable[[], bool],
        revoke: Callable[[int], object],
    ) -> None:
        self._clock = clock
        self._random = random
        self._store = store
        self._serving = serving
        self._revoke = revoke
        self._ends_us: dict[int, int] = {}

    def granted(self, lease: int) -> None:
        """``lease`` is there from now on."""
        self.renewed(lease)
        self._look_later(lease)

    def renewed(self, lease: int) -> None:
        """``lease`` lasts its TTL from now on."""
        self._ends_us[lease] = self._clock.now_us + self._store.ttl_s(lease) * _US_PER_S

    def renew_all(self) -> None:
        """etcd has another leader, which knows nothing of when leases were renewed."""
        for lease in self._store.leases():
            self.renewed(lease)

    def _look_later(self, lease: int) -> None:
        due_us = self._ends_us[lease] + self._random.randint(0, SCAN_US)
        self._clock.after(due_us - self._clock.now_us, lambda: self._look(lease))

    def _look(self, lease: int) -> None:
        if not self._store.ttl_s(lease):
            del self._ends_us[lease]  # revoked
        elif not self._serving():
            # It has another leader when it is back.
            self._clock.after(SCAN_US, lambda: self._look(lease))
        elif self._clock.now_us < self._ends_us[lease]:
            self._look_later(lease)
        else:
            del self._ends_us[lease]
            self._revoke(lease)
