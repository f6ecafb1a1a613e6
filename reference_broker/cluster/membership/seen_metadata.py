"""The latest metadata that a data folder has seen, as its log keeps it.

    cluster_node/seen    | 1 | history u32 | revision u64 |

It is written before anything of a queue that was made at that revision. So metadata that is behind
it was restored from an older copy, or is another cluster's: to begin with it would be to drop the
messages of the queues that it lacks.

Metadata that was lost is written anew from the copy of a folder
(:mod:`~reference_broker.cluster.definitions.restoring`), and its revisions begin anew: that is the
next *history*. The cluster's record says which revision of the one before it began with.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from reference_broker.cluster.membership.records import ClusterRecord
from reference_broker.core.journal.definition_keys import NODE_MARK
from reference_broker.errors import ClusterRefused, Corrupt

KEY = f"{NODE_MARK}/seen"
VERSION = 1

NOTHING_IS_DROPPED = (
    "Nothing of the folder is dropped: restore a later copy, or, with all nodes stopped, what the"
    " folder has that has seen most, by `mqkit cluster restore-metadata`"
)
"""The end of a refusal: what an operator can do."""

_LAYOUT = struct.Struct(">BIQ")


class SeenMetadata(NamedTuple):
    """A revision of the metadata in a history of the cluster."""

    history: int
    revision: int


def encode_seen(seen: SeenMetadata) -> bytes:
    """The value of the definition :data:`KEY`."""
    return _LAYOUT.pack(VERSION, *seen)


def seen_in(definitions: Mapping[str, bytes]) -> SeenMetadata | None:
    """The latest metadata that a folder with these definitions has seen; ``None`` for one that has
    seen none. Raises :exc:`Corrupt`."""
    value = definitions.get(KEY)
    if value is None:
        return None
    if len(value) != _LAYOUT.size or value[0] != VERSION:
        raise Corrupt(f"the revision that the folder has seen can't be read: {value.hex()}")
    _, history, revision = _LAYOUT.unpack(value)
    return SeenMetadata(history, revision)


def require_later(seen: SeenMetadata, cluster: ClusterRecord, revision: int) -> None:
    """Raises :exc:`ClusterRefused` where the metadata of ``cluster``, which is at ``revision``,
    lacks what the folder has ``seen``."""
    if seen.history == cluster.history and seen.revision > revision:
        raise ClusterRefused(
            f"etcd is at revision {revision}, and this data folder has seen {seen.revision}: it was"
            f" restored from an older copy. {NOTHING_IS_DROPPED}"
        )
    is_of_next = seen.history == cluster.history - 1
    if seen.history != cluster.history and not (
        is_of_next and seen.revision <= cluster.restored_from
    ):
        raise ClusterRefused(
            f"the metadata in etcd was restored from revision {cluster.restored_from}, history"
            f" {cluster.history - 1}, and this data folder has seen revision {seen.revision},"
            f" history {seen.history}. {NOTHING_IS_DROPPED}"
        )
