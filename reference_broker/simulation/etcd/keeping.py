"""A lease of one node that is kept: granted, renewed, lost, and granted again."""

from __future__ import annotations

from reference_broker.cluster.coordinator import LeaseListener
from reference_broker.simulation.etcd.inbox import Inbox
from reference_broker.simulation.etcd.line import Line
from reference_broker.simulation.etcd.server import EtcdServer

RENEWALS_PER_TTL = 3

_RETRY_US = (100_000, 1_000_000)
_GIVES_UP_CHANCE = 0.3
"""Of ticks at which no renewal was answered for a TTL: the port allows to take the lease for lost
then, and to be told later, too."""


class SimulatedKeeper:
    """Keeps a lease of ``ttl_s`` for ``listener``, until it is released or its process is gone."""

    def __init__(
        self, server: EtcdServer, line: Line, inbox: Inbox, ttl_s: int, listener: LeaseListener
    ) -> None:
        self._server = server
        self._line = line
        self._inbox = inbox
        self._ttl_s = ttl_s
        self._listener = listener
        self._lease = 0
        self._renewed_us = 0
        self._answered_us = server.clock.now_us
        self._released = False
        self._ask()

    @property
    def answered_at(self) -> float:
        """See :class:`~reference_broker.cluster.coordinator.LeaseKeeper`."""
        return self._answered_us / 1_000_000

    def release(self) -> None:
        """Give the lease back. Idempotent."""
        if not self._released:
            self._released = True
            if self._lease:
                self._revoke(self._lease)

    def _ask(self) -> None:
        asked_us = self._server.clock.now_us

        def answered(lease: int) -> None:
            self._answered_us = max(self._answered_us, asked_us)
            if lease:
                self._granted(lease, asked_us)
            else:
                self._ask_later()

        self._line.ask(
            lambda: self._server.grant(self._ttl_s),
            answered,
            lambda reason, in_doubt: self._ask_later(),
        )

    def _ask_later(self) -> None:
        def ask() -> None:
            if not self._released:
                self._ask()

        self._inbox.later(self._server.random.randint(*_RETRY_US), ask)

    def _granted(self, lease: int, asked_us: int) -> None:
        if self._released:
            self._revoke(lease)
            return
        self._lease = lease
        self._renewed_us = asked_us
        self._server.counts["leases granted"] += 1
        self._renew_later(lease)
        self._listener.lease_granted(lease)

    def _renew_later(self, lease: int) -> None:
        self._inbox.later(self._ttl_s * 1_000_000 // RENEWALS_PER_TTL, lambda: self._renew(lease))

    def _renew(self, lease: int) -> None:
        if lease != self._lease or self._released:
            return
        now_us, random = self._server.clock.now_us, self._server.random
        overdue = now_us - self._renewed_us > self._ttl_s * 1_000_000
        if overdue and random.random() < _GIVES_UP_CHANCE:
            self._server.counts["leases given up"] += 1
            self._lost(lease)
            return
        self._renew_later(lease)
        if random.random() < self._server.profile.renewal_lost:
            return
        self._line.ask(
            lambda: self._server.renew(lease),
            lambda kept: self._renewed(lease, now_us, kept),
            lambda reason, in_doubt: None,
        )

    def _renewed(self, lease: int, asked_us: int, kept: bool) -> None:
        self._answered_us = max(self._answered_us, asked_us)
        if lease != self._lease or self._released:
            return
        if kept:
            self._renewed_us = max(self._renewed_us, asked_us)
        else:
            self._server.counts["leases found gone"] += 1
            self._lost(lease)

    def _lost(self, lease: int) -> None:
        self._lease = 0
        self._ask()
        self._listener.lease_ended(lease)

    def _revoke(self, lease: int) -> None:
        self._line.ask(
            lambda: self._server.revoke(lease), lambda ended: None, lambda reason, in_doubt: None
        )
