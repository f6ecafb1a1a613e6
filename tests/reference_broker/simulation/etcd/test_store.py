"""The rest of this module is held by ``whole/test_against_real_etcd.py``."""

from __future__ import annotations

from reference_broker.cluster.coordinator import (
    Changed,
    Compare,
    Delete,
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
from reference_broker.simulation.etcd.store import COMPACTED, NO_LEASE, NO_SPACE, EtcdStore


def changed(*changes: Put | Delete) -> Transaction:
    return Transaction((), changes)


def test_only_what_changes_something_makes_a_revision() -> None:
    store = EtcdStore()
    assert store.transact(changed(Delete("k"))) == Won(1)
    assert store.transact(changed(Put("k", b"1"), Delete("other"))) == Won(2)
    assert store.transact(changed(Put("k", b"1"))) == Won(3)
    assert store.transact(Transaction((Compare("k", 2),), (Delete("k"),))) == Lost(3)
    assert store.transact(Transaction((Compare("k", 3),), (Delete("k"),))) == Won(4)
    assert store.transact(Transaction((Compare("k", 0),), (Put("k", b"2"),))) == Won(5)


def test_pages_are_in_order_of_octets_and_as_they_were() -> None:
    store = EtcdStore()
    keys = ["a", "a/", "a/\U0001f407", "a/é", "a/\uffff", "b"]
    store.transact(changed(*(Put(key, b"1") for key in keys)))
    store.transact(changed(Delete("a/é"), Put("a/", b"2")))
    expected = sorted((key for key in keys if key.startswith("a/")), key=str.encode)
    page = store.read("a/", revision=2)
    assert isinstance(page, Page)
    assert [row.key for row in page.rows] == expected
    assert store.read("a/", limit=1) == Page((Row("a/", b"2", 3, 0, 2),), 3, more=True)
    assert store.read("a/", after=expected[-1], limit=1) == Page((), 3, more=False)
    assert store.read("zz") == Page((), 3, more=False)


def test_a_put_without_the_lease_takes_the_key_off_it() -> None:
    store = EtcdStore()
    assert store.transact(changed(Put("k", b"", 7))) == Refused(NO_LEASE)
    assert store.grant(7, 60) == 60
    store.transact(changed(Put("k", b"", 7), Put("l", b"", 7), Put("m", b"", 7)))
    store.transact(changed(Put("k", b""), Delete("l")))
    assert store.revoke(7)
    assert store.changes("", 3, 9) == [Changed(4, (Event("m", None, 4),))]
    assert not store.revoke(7)
    assert store.ttl_s(7) == 0


def test_a_lease_without_keys_goes_without_a_revision() -> None:
    store = EtcdStore()
    store.grant(7, 60)
    assert store.revoke(7)
    assert store.revision == 1


def test_what_is_compacted_is_forgotten_but_what_stands_stays() -> None:
    store = EtcdStore()
    for change in (Put("k", b"1"), Put("gone", b"1"), Put("k", b"2"), Delete("gone")):
        store.transact(changed(change))
    assert store.compact(4) == ""
    assert store.compact(4) == COMPACTED
    assert store.read("", revision=3) == Unread(COMPACTED, compacted=True)
    assert store.read("k", revision=4) == Page((Row("k", b"2", 4, 0, 2),), 4, more=False)
    assert store.changes("", 3, 9) is None
    assert store.changes("", 4, 9) == [Changed(5, (Event("gone", None, 5),))]
    assert store.compact(5) == ""
    assert store.read("gone") == Page((), 5, more=False)
    assert store.changes("", 5, 9) == []


def test_a_full_one_lets_keys_go() -> None:
    store = EtcdStore()
    store.transact(changed(Put("k", b"")))
    store.full = True
    assert store.transact(changed(Put("l", b""))) == Refused(NO_SPACE)
    assert store.grant(7, 60) == Refused(NO_SPACE)
    assert store.transact(changed(Delete("k"))) == Won(3)
