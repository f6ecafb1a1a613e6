"""Restoring the cluster's metadata in etcd from the copy in a node's data folder, where etcd has
lost it, or has an older copy of it. All nodes are stopped meanwhile.

The steps are a generator that asks etcd, and is handed the answer. The cluster's own row goes first
and comes last: until it is there no node joins. So whatever the steps ended at, they may be begun
again.

Revisions begin anew in the next history of the cluster, and definitions name the revisions of what
they speak of: those are written in the order of their kinds, each with the new ones.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from reference_broker.cluster.coordinator import (
    CHANGES_MAX,
    TRANSACTION_BYTES_MAX,
    Compare,
    Delete,
    Page,
    Put,
    Row,
    Transaction,
    Unread,
)
from reference_broker.cluster.definitions.shared_value import SharedValue, decode, encode
from reference_broker.cluster.membership.folder_copy import CopiedMetadata, last_proposals
from reference_broker.cluster.membership.joining import (
    Answer,
    Asked,
    Lookup,
    TryAgain,
    carried_out,
)
from reference_broker.cluster.membership.records import ClusterRecord, decoded, encoded
from reference_broker.cluster.metadata.keys import (
    CLUSTER,
    DEFINITIONS,
    LIVE,
    cluster_prefix,
    rank_of,
)
from reference_broker.errors import ClusterRefused, Corrupt

_BATCH_BYTES_MAX = TRANSACTION_BYTES_MAX // 2


class Restored(NamedTuple):
    """The metadata of ``cluster`` is in etcd: ``written`` rows. ``left_out`` are the keys of
    definitions that spoke of what was not there any more, or could not be read."""

    cluster: ClusterRecord
    written: int
    left_out: tuple[str, ...]


RestoreSteps = Generator[Asked, Answer, Restored]


def restoring(name: str, copied: CopiedMetadata) -> RestoreSteps:
    """The steps of restoring the metadata of the cluster of that name. Raises
    :exc:`ClusterRefused` where it can't be or need not be, and :exc:`TryAgain` where etcd did not
    do what it was asked: the steps may be begun anew."""
    cluster = _cluster_in(copied)
    prefix = cluster_prefix(name)
    there, revision = yield from _rows(prefix)
    _require_stopped(name, there)
    own = next((row for row in there if row.key == CLUSTER), None)
    if own is not None:
        known = decoded(ClusterRecord, own.key, own.value)
        _require_same(name, known, cluster, copied.seen.revision)
        _require_behind(there, revision, copied)
        first = Compare(prefix + CLUSTER, own.revision)
        yield from carried_out(Transaction((first,), (Delete(prefix + CLUSTER),)))
    for keys in _portions([row.key for row in there if row.key != CLUSTER]):
        deletions = tuple(Delete(prefix + key) for key in keys)
        yield from carried_out(Transaction((), deletions))
    writing = _Writing(prefix)
    rows = sorted(copied.rows, key=lambda row: (rank_of(row.key), row.created, row.key))
    for _, together in groupby((row for row in rows if row.key != CLUSTER), _rank):
        yield from writing.write(together)
    restored = replace(cluster, history=copied.seen.history + 1, restored_from=copied.seen.revision)
    yield from writing.put({CLUSTER: encoded(restored)})
    return Restored(restored, writing.written, tuple(writing.left_out))


def _rank(row: Row) -> int:
    return rank_of(row.key)


def _cluster_in(copied: CopiedMetadata) -> ClusterRecord:
    for row in copied.rows:
        if row.key == CLUSTER:
            return decoded(ClusterRecord, row.key, row.value)
    raise ClusterRefused(
        "the folder's copy of the metadata is not whole: use another node's folder"
    )


def _require_stopped(name: str, there: Iterable[Row]) -> None:
    live = [row.key.removeprefix(LIVE) for row in there if row.key.startswith(LIVE)]
    if live:
        raise ClusterRefused(
            f"nodes of {name!r} are there: {', '.join(sorted(live))}. Stop all of them first; one"
            " that was killed is gone after 5 s"
        )


def _require_same(name: str, there: ClusterRecord, own: ClusterRecord, seen: int) -> None:
    if there.id != own.id:
        raise ClusterRefused(
            f"the data folder belongs to another cluster than the {name!r} in etcd"
        )
    if there.history != own.history:
        raise ClusterRefused(
            f"the metadata in etcd is of history {there.history}, restored from revision"
            f" {there.restored_from}; the folder has seen revision {seen} of history {own.history}"
        )


def _require_behind(there: Iterable[Row], revision: int, copied: CopiedMetadata) -> None:
    proposals, seen = last_proposals(there), last_proposals(copied.rows)
    lacks = any(proposals.get(node, proposal) < proposal for node, proposal in seen.items())
    if revision >= copied.seen.revision and not lacks:
        raise ClusterRefused(
            f"etcd is at revision {revision}, and has all that the folder has seen, which is at"
            f" {copied.seen.revision}: there is nothing to restore"
        )


def _rows(prefix: str) -> Generator[Asked, Answer, tuple[list[Row], int]]:
    """The rows of the cluster, without the prefix, and their revision."""
    rows: list[Row] = []
    asked = Lookup(prefix)
    while True:
        page = yield asked
        if not isinstance(page, Page):
            raise TryAgain(page.reason if isinstance(page, Unread) else "etcd can't be read")
        rows += [row._replace(key=row.key.removeprefix(prefix)) for row in page.rows]
        if not page.more:
            return rows, page.revision
        asked = Lookup(prefix, page.rows[-1].key, page.revision)


def _portions(keys: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), CHANGES_MAX):
        yield keys[start : start + CHANGES_MAX]


class _Writing:
    """Rows on their way to etcd, kind by kind."""

    def __init__(self, prefix: str) -> None:
        self.written = 0
        self.left_out: list[str] = []
        self._prefix = prefix
        self._was_made: dict[str, int] = {}
        """The revision that made an object in the history before, by the key of its definition."""
        self._is_made: dict[str, int] = {}

    def write(self, rows: Iterable[Row]) -> Generator[Asked, Answer, None]:
        """Write rows of one rank."""
        batch: dict[str, bytes] = {}
        size = 0
        for row in rows:
            value = self._value(row)
            if value is None:
                self.left_out.append(row.key)
                continue
            if len(batch) >= CHANGES_MAX or size + len(value) > _BATCH_BYTES_MAX:
                yield from self.put(batch)
                batch, size = {}, 0
            batch[row.key] = value
            size += len(value) + len(row.key)
        if batch:
            yield from self.put(batch)

    def put(self, batch: dict[str, bytes]) -> Generator[Asked, Answer, None]:
        """Write rows in one transaction; none of them may be there."""
        head = self._prefix
        compares = tuple(Compare(head + key, 0) for key in batch)
        puts = tuple(Put(head + key, value) for key, value in batch.items())
        revision = yield from carried_out(Transaction(compares, puts))
        self._is_made.update(dict.fromkeys(batch, revision))
        self.written += len(batch)

    def _value(self, row: Row) -> bytes | None:
        """The value to write; ``None`` for a definition that is nobody's."""
        if not row.key.startswith(DEFINITIONS):
            return row.value
        try:
            was = decode(row.value)
        except Corrupt:
            return None
        if any(self._was_made.get(DEFINITIONS + key, 0) != at for key, at in was.speaks_of):
            return None
        self._was_made[row.key] = was.made_at or row.revision
        speaks_of = tuple(
            (key, self._is_made.get(DEFINITIONS + key, 0)) for key, _ in was.speaks_of
        )
        return encode(SharedValue(was.body, 0, speaks_of, was.home, was.run))
