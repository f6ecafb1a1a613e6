"""The store that etcd is, alone: revisions, transactions, leases without their time, history.

Keys are in the order of their octets, as in etcd; that is the order of Python's strings, for UTF-8
keeps the order of code points.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

from reference_broker.cluster.coordinator import (
    PAGE_ROWS_MAX,
    Changed,
    Event,
    Lost,
    Page,
    Put,
    Refused,
    Row,
    Transaction,
    Unread,
    Won,
)
from reference_broker.simulation.etcd.bounds import refusal

LEASE_TTL_MIN_S = 2
"""etcd grants no shorter lease, at its default of ``--election-timeout``."""

NO_SPACE = "etcdserver: mvcc: database space exceeded"
NO_LEASE = "etcdserver: requested lease not found"
LEASE_THERE = "etcdserver: lease already exists"
COMPACTED = "etcdserver: mvcc: required revision has been compacted"
IN_THE_FUTURE = "etcdserver: mvcc: required revision is a future revision"


class EtcdStore:
    """Keys and leases at one revision, and every transaction since the compacted one.

    While it is ``full`` nothing can be put, and no lease granted; keys can go.
    """

    def __init__(self) -> None:
        self.revision = 1
        self.compacted = -1  # as etcd has it: 0 may be compacted, once
        self.full = False
        self._changes: list[Changed] = []
        """One for every revision from ``_first`` on."""
        self._first = self.revision + 1
        self._keys: list[str] = []
        self._versions: dict[str, list[Event]] = {}
        """Everything that was written to each of ``_keys``, and can still be asked for."""
        self._leases: dict[int, dict[str, None]] = {}
        """The keys that hang on each."""
        self._ttls_s: dict[int, int] = {}

    def transact(self, transaction: Transaction) -> Won | Lost | Refused:
        """Carry out ``transaction``. One that changes nothing makes no revision."""
        puts = [change for change in transaction.changes if isinstance(change, Put)]
        reason = refusal(transaction)
        if reason or (self.full and puts):
            return Refused(reason or NO_SPACE, lasting=bool(reason))
        if any(self._written(key) != revision for key, revision in transaction.compares):
            return Lost(self.revision)
        if any(put.lease and put.lease not in self._leases for put in puts):
            return Refused(NO_LEASE, lasting=True)
        revision = self.revision + 1
        self._commit(
            [
                Event(change.key, change.value, revision, change.lease)
                if isinstance(change, Put)
                else Event(change.key, None, revision)
                for change in transaction.changes
            ]
        )
        return Won(self.revision)

    def read(
        self, prefix: str, *, after: str = "", revision: int = 0, limit: int = PAGE_ROWS_MAX
    ) -> Page | Unread:
        """At most ``limit`` rows under ``prefix`` that come after the key ``after``, as they are,
        or as they were at ``revision``."""
        if revision > self.revision:
            return Unread(IN_THE_FUTURE)
        if 0 < revision < self.compacted:
            return Unread(COMPACTED, compacted=True)
        revision = revision or self.revision
        rows: list[Row] = []
        first = max(bisect_left(self._keys, prefix), bisect_right(self._keys, after))
        for place in range(first, len(self._keys)):
            key = self._keys[place]
            if not key.startswith(prefix):
                break
            version = self._version(key, revision)
            if version is None or version.value is None:
                continue
            if len(rows) == limit:
                return Page(tuple(rows), revision, more=True)
            rows.append(Row(key, version.value, version.revision, version.lease, version.created))
        return Page(tuple(rows), revision, more=False)

    def changes(self, prefix: str, after: int, through: int) -> list[Changed] | None:
        """Every change under ``prefix`` after the revision ``after``, up to ``through``; nothing
        where a part of it is compacted.

        A real etcd asked to watch from the compacted revision itself leaves out that revision's
        deletions, and doesn't say so: a client of it has to ask from ``after``, and to drop what
        it has.
        """
        if after < self.compacted:
            return None
        found: list[Changed] = []
        for changed in self._changes[max(after + 1 - self._first, 0) : through + 1 - self._first]:
            events = tuple(event for event in changed.events if event.key.startswith(prefix))
            if events:
                found.append(Changed(changed.revision, events))
        return found

    def compact(self, revision: int) -> str:
        """Forget what was superseded at ``revision`` and before. Returns the reason where etcd
        refuses to."""
        if revision <= self.compacted:
            return COMPACTED
        if revision > self.revision:
            return IN_THE_FUTURE
        self.compacted = revision
        del self._changes[: max(revision + 1 - self._first, 0)]
        self._first = max(self._first, revision + 1)
        for key in list(self._keys):
            versions = self._versions[key]
            del versions[: max(bisect_right(versions, revision, key=_revision_of) - 1, 0)]
            if versions[0].revision <= revision and versions[0].value is None:
                del versions[0]
            if not versions:
                del self._versions[key]
        self._keys = [key for key in self._keys if key in self._versions]
        return ""

    def grant(self, lease: int, ttl_s: int) -> int | Refused:
        """Make a lease. Returns the seconds that it has been granted for."""
        if self.full:
            return Refused(NO_SPACE)
        if lease in self._leases:
            return Refused(LEASE_THERE)
        self._leases[lease] = {}
        self._ttls_s[lease] = max(ttl_s, LEASE_TTL_MIN_S)
        return self._ttls_s[lease]

    def ttl_s(self, lease: int) -> int:
        """Seconds that ``lease`` was granted for, which a renewal makes it last from now on; 0 for
        one that is gone."""
        return self._ttls_s.get(lease, 0)

    def leases(self) -> list[int]:
        """All leases, the oldest first."""
        return list(self._leases)

    def revoke(self, lease: int) -> bool:
        """End ``lease``, and take its keys with it in one revision; the same happens when it has
        run out. Returns false where there is no such lease."""
        if lease not in self._leases:
            return False
        keys = sorted(self._leases[lease])
        self._commit([Event(key, None, self.revision + 1) for key in keys])
        del self._leases[lease], self._ttls_s[lease]
        return True

    def _commit(self, events: list[Event]) -> None:
        """Write what changes something, all of it at the next revision."""
        done: list[Event] = []
        for event in events:
            alive = self._written(event.key) > 0
            if event.value is not None:
                created = self._versions[event.key][-1].created if alive else event.revision
                event = event._replace(created=created)
            elif not alive:
                continue
            self._write(event)
            done.append(event)
        if done:
            self.revision += 1
            self._changes.append(Changed(self.revision, tuple(done)))

    def _write(self, event: Event) -> None:
        versions = self._versions.get(event.key)
        if versions is None:
            self._versions[event.key] = [event]
            insort(self._keys, event.key)
        else:
            before = versions[-1].lease
            if before:
                del self._leases[before][event.key]
            versions.append(event)
        if event.lease:
            self._leases[event.lease][event.key] = None

    def _written(self, key: str) -> int:
        """The revision that wrote ``key`` last; 0 for one that is not there."""
        versions = self._versions.get(key)
        return versions[-1].revision if versions and versions[-1].value is not None else 0

    def _version(self, key: str, revision: int) -> Event | None:
        versions = self._versions[key]
        place = bisect_right(versions, revision, key=_revision_of)
        return versions[place - 1] if place else None


def _revision_of(event: Event) -> int:
    return event.revision
