"""The model's store and a real etcd, side by side under the same operations."""

from __future__ import annotations

import secrets
from collections import Counter
from random import Random
from typing import Protocol

import pytest

from reference_broker.cluster.coordinator import (
    Changed,
    Compare,
    Delete,
    Lost,
    Page,
    Put,
    Refused,
    Transaction,
    Unread,
    Won,
)
from reference_broker.simulation.etcd.bounds import DUPLICATE_KEY, TOO_LARGE, TOO_MANY
from reference_broker.simulation.etcd.store import NO_LEASE, NO_SPACE, EtcdStore

pytestmark = pytest.mark.slow

OPERATIONS = 600
PREFIXES = ("", "a", "a/", "b", "a/é")
KEYS = tuple(
    f"{place}{name}"
    for place in ("a/", "a0", "b", "c/")
    for name in ("", "1", "é", "\U0001f407", "z")
)
SENTINEL = "~"
LEASES = (11, 12, 13)
WATCHES_MAX = 12


class RealWatch(Protocol):
    def read(self, through: int) -> list[Changed] | None: ...

    def close(self) -> None: ...


class RealStore(Protocol):
    """The fixture's class: tests can't import a conftest."""

    def transact(self, transaction: Transaction) -> Won | Lost | Refused: ...

    def read(
        self, prefix: str, *, after: str = "", revision: int = 0, limit: int = 1_000
    ) -> Page | Unread: ...

    def compact(self, revision: int) -> str: ...

    def grant(self, lease: int, ttl_s: int) -> int | Refused: ...

    def ttl_s(self, lease: int) -> int: ...

    def revoke(self, lease: int) -> bool: ...

    def fill(self, *, full: bool) -> None: ...

    def watch(self, prefix: str, start_revision: int) -> RealWatch: ...


class Comparison:
    """One sequence of operations, drawn from a seed, done to both."""

    def __init__(self, seed: int, real: RealStore) -> None:
        self.seen: Counter[str] = Counter()
        self._random = Random(seed)
        self._model = EtcdStore()
        self._real = real
        self._watches: list[tuple[str, int, list[Changed], RealWatch]] = []

    def run(self) -> None:
        steps = {
            self._transact: 60,
            self._read: 25,
            self._watch: 4,
            self._lease: 10,
            self._compact: 3,
            self._fill: 2,
        }
        for _ in range(OPERATIONS):
            self._random.choices(list(steps), list(steps.values()))[0]()
        self._end_watches()

    def _transact(self) -> None:
        drawn = self._drawn()
        outcome = self._model.transact(drawn)
        assert self._real.transact(drawn) == outcome, drawn
        self._count(outcome)

    def _drawn(self) -> Transaction:
        keys = self._random.sample(KEYS, self._random.randint(0, 4))
        if keys and self._random.random() < 0.05:
            keys.append(self._random.choice(keys))
        compares = self._random.sample(KEYS, self._random.choice((0, 0, 1, 2)))
        return Transaction(
            tuple(Compare(key, self._seen_revision(key)) for key in compares),
            tuple(self._change(key) for key in keys),
        )

    def _seen_revision(self, key: str) -> int:
        """The revision of ``key``, mostly; or 0, or an old one."""
        page = self._model.read(key, limit=1)
        assert isinstance(page, Page)
        now = next((row.revision for row in page.rows if row.key == key), 0)
        return now if self._random.random() < 0.85 else self._random.randint(0, now)

    def _change(self, key: str) -> Put | Delete:
        if self._random.random() < 0.3:
            return Delete(key)
        lease = self._random.choice((0, 0, *LEASES))
        return Put(key, self._random.randbytes(self._random.choice((0, 3, 40))), lease)

    def _read(self) -> None:
        """All rows under a prefix, in pages, as they are or as they were."""
        prefix, limit = self._random.choice(PREFIXES), self._random.randint(1, 6)
        now = self._model.revision
        revision = self._random.choice((0, self._random.randint(max(now - 60, 1), now + 1)))
        after = self._random.choice(("", "", *KEYS))
        while True:
            page = self._model.read(prefix, after=after, revision=revision, limit=limit)
            assert self._real.read(prefix, after=after, revision=revision, limit=limit) == page
            if isinstance(page, Unread):
                self.seen["compacted reads" if page.compacted else "reads of the future"] += 1
                return
            self.seen["pages"] += 1
            if not page.more:
                return
            after, revision = page.rows[-1].key, page.revision

    def _watch(self) -> None:
        """Watch from any revision. What both tell is compared up to a change that is made behind
        it: from then on the real one is up to date, and later compactions don't concern it."""
        if self._model.full or len(self._watches) == WATCHES_MAX:
            return
        prefix = self._random.choice(PREFIXES)
        after = self._random.randint(max(self._model.revision - 40, 0), self._model.revision)
        watch = self._real.watch(prefix, max(after, 1))
        self._touch(prefix)
        told = watch.read(self._model.revision)
        expected = self._model.changes(prefix, after, self._model.revision)
        if told is None or expected is None:
            assert told == expected
            self.seen["compacted watches"] += 1
            watch.close()
            return
        # It was asked from ``after`` itself: see ``EtcdStore.changes``.
        assert [changed for changed in told if changed.revision > after] == expected
        self.seen["watches"] += 1
        self._watches.append((prefix, self._model.revision, [], watch))

    def _touch(self, prefix: str) -> None:
        put = Transaction((), (Put(prefix + SENTINEL, b""),))
        assert self._real.transact(put) == self._model.transact(put)
        self._keep()

    def _keep(self) -> None:
        """Note what open watches have to tell, before it is compacted."""
        for place, (prefix, after, expected, watch) in enumerate(self._watches):
            more = self._model.changes(prefix, after, self._model.revision)
            assert more is not None
            self._watches[place] = (prefix, self._model.revision, expected + more, watch)

    def _lease(self) -> None:
        lease = self._random.choice(LEASES)
        match self._random.choice(("grant", "grant", "grant", "grant", "renew", "revoke")):
            case "grant":
                granted = self._model.grant(lease, 600)
                assert self._real.grant(lease, 600) == granted
                self._count(granted)
            case "renew":
                assert self._real.ttl_s(lease) == self._model.ttl_s(lease)
            case _:
                before = self._model.revision
                assert self._real.revoke(lease) == self._model.revoke(lease)
                assert self._real.read("", limit=1) == self._model.read("", limit=1)
                self.seen["leases that took keys"] += self._model.revision > before

    def _compact(self) -> None:
        self._keep()
        now = self._model.revision
        revision = self._random.randint(max(now - 30, 0), now + 2)
        reason = self._model.compact(revision)
        assert self._real.compact(revision) == reason
        self.seen[reason or "compactions"] += 1

    def _fill(self) -> None:
        self._model.full = not self._model.full and self._random.random() < 0.3
        self._real.fill(full=self._model.full)

    def _end_watches(self) -> None:
        self._model.full = False
        self._real.fill(full=False)
        for prefix in PREFIXES:
            self._touch(prefix)
        for prefix, _, expected, watch in self._watches:
            last = expected[-1].revision
            assert watch.read(last) == expected, prefix
            watch.close()

    def _count(self, outcome: object) -> None:
        name = outcome.reason if isinstance(outcome, Refused) else type(outcome).__name__
        self.seen[name] += 1


def test_both_do_the_same(real_store: RealStore) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    comparison = Comparison(seed, real_store)
    comparison.run()
    print(dict(comparison.seen))
    # Each of these comes up in nearly every seed; together they say that the sequence lives.
    assert comparison.seen["Won"] > OPERATIONS / 10
    assert comparison.seen["pages"] > OPERATIONS / 10
    assert comparison.seen["watches"] > 0
    assert comparison.seen["compactions"] > 0


def test_both_refuse_the_same(real_store: RealStore) -> None:
    model = EtcdStore()
    keys = [f"k{number}" for number in range(129)]
    transactions = {
        TOO_MANY: Transaction((), tuple(map(Delete, keys))),
        DUPLICATE_KEY: Transaction((), (Put("k", b""), Delete("k"))),
        TOO_LARGE: Transaction((), (Put("k", bytes(1_600_000)),)),
        NO_LEASE: Transaction((), (Put("k", b"", 99),)),
    }
    for reason, transaction in transactions.items():
        assert real_store.transact(transaction) == model.transact(transaction) == Refused(reason)
    compares = tuple(Compare(key, 0) for key in keys)
    for transaction, outcome in (
        (Transaction(compares, ()), Refused(TOO_MANY)),
        (Transaction((Compare("k", 7),), (Put("k", b"", 99),)), Lost(1)),
        (Transaction(compares[:128], tuple(Put(key, b"") for key in keys[:128])), Won(2)),
        (Transaction((), (Put("k", bytes(1_500_000)),)), Won(3)),
        (Transaction((), (Delete("k"), Delete("k"))), Won(4)),
        (Transaction((), (Delete("k"),)), Won(4)),
    ):
        assert real_store.transact(transaction) == model.transact(transaction) == outcome
    model.full = True
    real_store.fill(full=True)
    put, delete = (
        Transaction((Compare("k", 9),), (Put("k", b""),)),
        Transaction((), (Delete("k0"),)),
    )
    assert real_store.transact(put) == model.transact(put) == Refused(NO_SPACE)
    assert real_store.transact(delete) == model.transact(delete) == Won(5)
    assert real_store.grant(1, 60) == model.grant(1, 60) == Refused(NO_SPACE)


def test_a_lease_that_runs_out_takes_its_keys_in_one_revision(real_store: RealStore) -> None:
    model = EtcdStore()
    assert real_store.grant(7, 1) == model.grant(7, 1) == 2
    puts = Transaction((), (Put("b", b"1", 7), Put("a", b"2", 7), Put("c", b"3")))
    assert real_store.transact(puts) == model.transact(puts) == Won(2)
    watch = real_store.watch("", 3)
    told = watch.read(3)
    watch.close()
    assert model.revoke(7)
    assert told == model.changes("", 2, 3)
    assert real_store.read("") == model.read("")
    assert real_store.ttl_s(7) == model.ttl_s(7) == 0


def test_a_real_watch_from_the_compacted_revision_leaves_out_its_deletion(
    real_store: RealStore,
) -> None:
    """The reason why a client must ask from the revision that it has, rather than the next."""
    for change in (Put("k", b""), Delete("k"), Put("other", b"")):
        real_store.transact(Transaction((), (change,)))
    assert real_store.compact(3) == ""
    next_one, same = real_store.watch("", 3), real_store.watch("", 2)
    told = next_one.read(4)
    assert told is not None
    assert [changed.revision for changed in told] == [4]  # and the one at 3 is not told
    assert same.read(4) is None  # compacted: this one says so
    next_one.close()
    same.close()
