"""restoring: the metadata of a cluster in an etcd that has lost it, from what a folder has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_broker.cluster.coordinator import (
    CHANGES_MAX,
    Delete,
    InDoubt,
    Lost,
    Outcome,
    Page,
    Put,
    Refused,
    Row,
    Transaction,
    Unread,
    Won,
)
from reference_broker.cluster.definitions.restoring import Restored, restoring
from reference_broker.cluster.definitions.shared_value import SharedValue, decode, encode
from reference_broker.cluster.membership.folder_copy import CopiedMetadata
from reference_broker.cluster.membership.joining import Answer, Lookup, TryAgain
from reference_broker.cluster.membership.records import ClusterRecord, decoded, encoded
from reference_broker.cluster.membership.seen_metadata import SeenMetadata
from reference_broker.errors import ClusterRefused

P = "/mqkit/prod/"
CLUSTER = ClusterRecord("c1", 1, "f00", 1_700_000_000_000)
VHOST, EXCHANGE, QUEUE = "vhost/%2F", "exchange/%2F/x", "queue/%2F/q"
BINDING = "binding/%2F/b"


def _row(key: str, at: int, *speaks_of: tuple[str, int], made_at: int = 0) -> Row:
    value = encode(SharedValue(f"body of {key}".encode(), made_at, speaks_of, "a"))
    return Row("def/" + key, value, at, 0, made_at or at)


COPY = CopiedMetadata(
    SeenMetadata(0, 95),
    (
        Row("cluster", encoded(CLUSTER), 2, 0, 2),
        _row(BINDING, 70, (VHOST, 11), (EXCHANGE, 40), (QUEUE, 50)),
        _row(QUEUE, 50, (VHOST, 11)),
        _row(EXCHANGE, 70, (VHOST, 11), made_at=40),
        _row("binding/%2F/of another x", 45, (VHOST, 11), (EXCHANGE, 39), (QUEUE, 50)),
        Row("def/policy/%2F/p", b"\x07", 60, 0, 60),
        _row(VHOST, 11),
        Row("next/ids", b"9", 90, 0, 3),
    ),
)


class Etcd:
    """The rows under the cluster's prefix, in pages of two."""

    def __init__(self, rows: dict[str, bytes] | None = None, revision: int = 4) -> None:
        self.rows = {P + key: (value, 3) for key, value in (rows or {}).items()}
        self.revision = revision
        self.transactions: list[Transaction] = []
        self.fails: Outcome | Unread | None = None
        self.fails_at = 0
        """The transaction that fails, or with :class:`Unread` the read."""

    def restore(self, copied: CopiedMetadata = COPY) -> Restored:
        steps, answer = restoring("prod", copied), None
        while True:
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                restored: Restored = end.value
                return restored
            if isinstance(asked, Lookup):
                answer = self._page(asked)
            else:
                assert isinstance(asked, Transaction)
                answer = self._carry_out(asked)

    def _page(self, lookup: Lookup) -> Answer:
        if isinstance(self.fails, Unread):
            return self.fails
        found = [
            Row(key, value, revision)
            for key, (value, revision) in sorted(self.rows.items())
            if key.startswith(lookup.prefix) and key > lookup.after
        ]
        return Page(tuple(found[:2]), self.revision, len(found) > 2)

    def _carry_out(self, transaction: Transaction) -> Answer:
        self.transactions.append(transaction)
        for key, revision in transaction.compares:
            assert self.rows.get(key, (b"", 0))[1] == revision
        if self.fails is not None and len(self.transactions) == self.fails_at:
            return self.fails
        self.revision += 1
        for change in transaction.changes:
            if isinstance(change, Put):
                self.rows[change.key] = (change.value, self.revision)
            else:
                del self.rows[change.key]
        return Won(self.revision)

    def value(self, key: str) -> SharedValue:
        return decode(self.rows[P + "def/" + key][0])

    def at(self, key: str) -> int:
        return self.rows[P + "def/" + key][1]


def test_an_empty_etcd_has_all_that_the_folder_has() -> None:
    etcd = Etcd()
    restored = etcd.restore()
    assert restored.cluster == replace(CLUSTER, history=1, restored_from=95)
    assert decoded(ClusterRecord, "cluster", etcd.rows[P + "cluster"][0]) == restored.cluster
    assert restored.written == len(etcd.rows) == 6
    assert etcd.rows[P + "next/ids"][0] == b"9"
    assert etcd.value(QUEUE).body == f"body of {QUEUE}".encode()
    assert etcd.value(QUEUE).home == "a"


def test_definitions_speak_of_the_revisions_that_have_made_the_others_now() -> None:
    etcd = Etcd()
    etcd.restore()
    assert etcd.value(EXCHANGE).made_at == 0
    assert etcd.value(BINDING).speaks_of == (
        (VHOST, etcd.at(VHOST)),
        (EXCHANGE, etcd.at(EXCHANGE)),
        (QUEUE, etcd.at(QUEUE)),
    )
    assert etcd.at(VHOST) < etcd.at(EXCHANGE) < etcd.at(QUEUE) < etcd.at(BINDING)


def test_what_was_nobodys_is_left_out_and_told() -> None:
    assert Etcd().restore().left_out == ("def/policy/%2F/p", "def/binding/%2F/of another x")


def test_an_older_copy_is_replaced_and_the_cluster_goes_first_and_comes_last() -> None:
    etcd = Etcd({"cluster": encoded(CLUSTER), "def/queue/%2F/old": b"", "next/ids": b"3"})
    etcd.restore()
    assert P + "def/queue/%2F/old" not in etcd.rows
    changed = [[each.key.removeprefix(P) for each in it.changes] for it in etcd.transactions]
    assert changed[:2] == [["cluster"], ["def/queue/%2F/old", "next/ids"]]
    assert changed[-1] == ["cluster"]
    assert isinstance(etcd.transactions[0].changes[0], Delete)


def test_an_older_copy_whose_revision_has_passed_is_replaced() -> None:
    older = {"cluster": encoded(CLUSTER), "proposals/a": b"3 16", "proposals/b": b"9 9"}
    seen = Row("proposals/a", b"3 17", 80, 0, 0)
    etcd = Etcd(older, revision=200)
    assert etcd.restore(COPY._replace(rows=(*COPY.rows, seen))).cluster.history == 1
    assert etcd.rows[P + "proposals/a"][0] == b"3 17"
    assert P + "proposals/b" not in etcd.rows


def test_transactions_have_as_many_rows_as_etcd_takes() -> None:
    many = tuple(_row(f"{QUEUE}{number}", 60) for number in range(CHANGES_MAX + 5))
    etcd = Etcd({f"def/old{number}": b"" for number in range(CHANGES_MAX + 5)})
    restored = etcd.restore(COPY._replace(rows=COPY.rows + many))
    assert restored.written == 6 + len(many)
    assert max(len(each.changes) for each in etcd.transactions) == CHANGES_MAX


@pytest.mark.parametrize("fails", [Refused("no space"), InDoubt("no answer"), Lost(9)])
@pytest.mark.parametrize("fails_at", range(1, 8))
def test_whatever_it_ended_at_it_may_be_begun_again(fails: Outcome, fails_at: int) -> None:
    etcd = Etcd({"cluster": encoded(CLUSTER), "def/queue/%2F/old": b""})
    etcd.fails, etcd.fails_at = fails, fails_at
    with pytest.raises(TryAgain):
        etcd.restore()
    assert P + "cluster" not in etcd.rows or fails_at == 1
    etcd.fails = None
    assert etcd.restore().cluster.history == 1
    assert len(etcd.rows) == 6


def test_an_etcd_that_does_not_answer_is_told_as_such() -> None:
    etcd = Etcd()
    etcd.fails = Unread("no leader")
    with pytest.raises(TryAgain, match="no leader"):
        etcd.restore()


@pytest.mark.parametrize(
    ("etcd", "copied", "words"),
    [
        (Etcd({"live/b": b"", "live/a": b""}), COPY, "are there: a, b. Stop all"),
        (
            Etcd({"cluster": encoded(replace(CLUSTER, id="c2"))}),
            COPY,
            "belongs to another cluster",
        ),
        (
            Etcd({"cluster": encoded(replace(CLUSTER, history=1, restored_from=60))}),
            COPY,
            "is of history 1, restored from revision 60",
        ),
        (Etcd({"cluster": encoded(CLUSTER)}, revision=95), COPY, "there is nothing to restore"),
        (Etcd(), COPY._replace(rows=COPY.rows[1:]), "is not whole"),
    ],
)
def test_what_it_refuses_changes_nothing(etcd: Etcd, copied: CopiedMetadata, words: str) -> None:
    before = dict(etcd.rows)
    with pytest.raises(ClusterRefused, match=words):
        etcd.restore(copied)
    assert etcd.rows == before
    assert etcd.transactions == []
