"""etcd as all nodes share it: the store with its time, and the faults that it has of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from reference_broker.cluster.coordinator import Lost, Refused, Transaction, Won
from reference_broker.simulation.etcd.expiry import LeaseExpiry
from reference_broker.simulation.etcd.profile import EtcdProfile
from reference_broker.simulation.etcd.store import EtcdStore
from reference_broker.simulation.etcd.witness import Record
from reference_broker.simulation.events.clock import SimulatedClock

UNAVAILABLE_MAX_US = 60_000_000
"""Microseconds for which etcd may be away."""

RECOVERY_US = 2_000_000
"""Within as many microseconds what waited for etcd is carried out, once it is back."""

DROPPED = "etcdserver: no leader"
_DROPPED_CHANCE = 0.3
_WAITS_CHANCE = 0.5


class EtcdServer:
    """The members of etcd. Whoever plays faults calls :meth:`go_away`, :meth:`change_leader`,
    :meth:`revoke_leases` and :meth:`compact`, and sets ``store.full``.

    ``profile`` has the chances of single requests, and may be changed at any time. ``counts`` says
    what has happened.
    """

    def __init__(self, clock: SimulatedClock, random: Random, profile: EtcdProfile) -> None:
        self.clock = clock
        self.random = random
        self.profile = profile
        self.store = EtcdStore()
        self.record = Record()
        self.counts: Counter[str] = Counter()
        self._followers: dict[int, Callable[[], None]] = {}
        self._followed = 0
        self._away_until_us = 0
        self._waiting: list[Callable[[], None]] = []
        self._expiry = LeaseExpiry(clock, random, self.store, lambda: self.serving, self.revoke)

    def follow(self, changed: Callable[[], None]) -> int:
        """Have ``changed`` called after each revision that is made, until :meth:`unfollow` with the
        number that is returned."""
        self._followed += 1
        self._followers[self._followed] = changed
        return self._followed

    def unfollow(self, number: int) -> None:
        """Call it no more. Idempotent."""
        self._followers.pop(number, None)

    @property
    def serving(self) -> bool:
        """True while most members of etcd are there."""
        return self.clock.now_us >= self._away_until_us

    def go_away(self, duration_us: int) -> None:
        """Be without a quorum for ``duration_us``, :data:`UNAVAILABLE_MAX_US` at most: nothing is
        carried out, and no lease ends. Then a leader is elected."""
        duration_us = min(duration_us, UNAVAILABLE_MAX_US)
        self._away_until_us = max(self._away_until_us, self.clock.now_us + duration_us)
        self.clock.after(duration_us, self._back)

    def come_back(self) -> None:
        """Be there now, if it is away."""
        self._away_until_us = min(self._away_until_us, self.clock.now_us)
        self._back()

    def change_leader(self) -> None:
        """Have another leader: the TTLs of all leases start anew."""
        self._expiry.renew_all()

    def revoke_leases(self) -> None:
        """End every lease, for no reason, each in a revision of its own."""
        for lease in self.store.leases():
            self.revoke(lease)

    def compact(self, revision: int = 0) -> None:
        """Forget what was superseded at ``revision``, or by now."""
        self.store.compact(revision or self.store.revision)

    def transact(self, transaction: Transaction) -> Won | Lost | Refused:
        """Carry out ``transaction``, now."""
        outcome = self.store.transact(transaction)
        self.counts[type(outcome).__name__.lower()] += 1
        self._tell()
        return outcome

    def grant(self, ttl_s: int) -> int:
        """Make a lease, now. Returns its number, or 0 where there is no space for one."""
        lease = self.random.getrandbits(62) + 1
        if isinstance(self.store.grant(lease, ttl_s), Refused):
            return 0
        self._expiry.granted(lease)
        return lease

    def renew(self, lease: int) -> bool:
        """Renew ``lease``, now. Returns false if it is gone."""
        if not self.store.ttl_s(lease):
            return False
        self._expiry.renewed(lease)
        return True

    def revoke(self, lease: int) -> bool:
        """End ``lease``, now. Returns false where there is no such lease."""
        ended = self.store.revoke(lease)
        self._tell()
        return ended

    def perform(self, act: Callable[[], None], dropped: Callable[[str], None]) -> None:
        """Have ``act`` done, which is a request that has arrived. While etcd is away it waits for
        it to come back, gets lost, or is ``dropped`` for the reason that is handed over."""
        if self.serving:
            act()
            return
        fate = self.random.random()
        if fate < _DROPPED_CHANCE:
            dropped(DROPPED)
        elif fate < _DROPPED_CHANCE + _WAITS_CHANCE:
            self._waiting.append(lambda: self.perform(act, dropped))

    def _back(self) -> None:
        if not self.serving:
            return
        self.change_leader()
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            self.clock.after(self.random.randint(0, RECOVERY_US), act)

    def _tell(self) -> None:
        """Note what has changed, and have watches tell of it, each when it gets to it."""
        changes = self.store.changes("", self.record.revision, self.store.revision)
        for changed in changes or ():
            self.record.add(changed)
        if changes:
            for follower in list(self._followers.values()):
                follower()
