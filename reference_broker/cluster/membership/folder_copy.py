"""The copy of the cluster's metadata in the data folder of a node: the metadata is restored from it
where etcd has lost its own, and from nothing else. Nobody routes or starts by it, as it may be old.

    cluster_copy/<key>   | revision u64 | created u64 | the value in etcd |

Left out is what goes with a run of a node: keys on a lease. The numbers of proposals are in it, as
there is one in each transaction that changes a definition: metadata in which one is lower was
restored from an older copy, though its revision may have passed what the folder has seen.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from reference_broker.cluster.coordinator import Event, Row
from reference_broker.cluster.membership.seen_metadata import (
    KEY,
    SeenMetadata,
    encode_seen,
    seen_in,
)
from reference_broker.cluster.metadata.keys import LIVE, PROPOSALS
from reference_broker.cluster.metadata.proposal import SeenProposal, seen_proposal
from reference_broker.cluster.metadata.view import View
from reference_broker.core.journal.definition_keys import NODE_COPY
from reference_broker.core.work.budget import DECLARATION_UNITS, Budget
from reference_broker.core.work.task import Steps
from reference_broker.errors import Corrupt

_PREFIX = f"{NODE_COPY}/"
_HEAD = struct.Struct(">QQ")


class Folder(Protocol):
    """The log of the data folder."""

    def define(self, key: str, value: bytes | None) -> None:
        """See :class:`~reference_broker.core.journal.journal.Journal`."""
        ...


class FolderCopy:
    """The copy in ``folder`` of what ``view`` has. Have it follow the whole view before anybody who
    makes something of it: then a message is behind the definition of its queue in the log. Call
    :meth:`begin` before the view is read, and :meth:`tidied` when it is whole."""

    def __init__(self, folder: Folder, view: View) -> None:
        self._folder = folder
        self._view = view
        self._held: Mapping[str, bytes] = {}
        """The definitions that were found in the folder, until the view is whole."""
        self._seen = SeenMetadata(0, 0)
        self._leased: dict[str, None] = {}
        view.follow("", self)

    def begin(self, history: int, held: Mapping[str, bytes]) -> None:
        """The metadata is of ``history``, and the folder had the definitions ``held``. Raises
        :exc:`Corrupt`."""
        self._held = held
        seen = seen_in(held)
        is_same = seen is not None and seen.history == history
        self._seen = seen if seen is not None and is_same else SeenMetadata(history, 0)

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`."""
        if event.key.startswith(LIVE):
            return
        if event.lease:
            self._leased[event.key] = None
            return
        if event.value is None and event.key in self._leased:
            del self._leased[event.key]
            return
        if event.revision > self._seen.revision:
            self._seen = self._seen._replace(revision=event.revision)
            self._folder.define(KEY, encode_seen(self._seen))
        key, value = _PREFIX + event.key, None
        if event.value is not None:
            value = _HEAD.pack(event.revision, event.created) + event.value
        if value is None or self._held.get(key) != value:
            self._folder.define(key, value)

    def tidied(self, budget: Budget) -> Steps:
        """The steps of removing the copies of what has gone while the node was not there."""
        held, self._held = self._held, {}
        for key in [key for key in held if key.startswith(_PREFIX)]:
            if not self._view.revision_of(key.removeprefix(_PREFIX)):
                self._folder.define(key, None)
                budget.left -= DECLARATION_UNITS
                if budget.left <= 0:
                    yield None


class CopiedMetadata(NamedTuple):
    """The metadata as a folder has it: ``rows`` with keys without the cluster's prefix."""

    seen: SeenMetadata
    rows: tuple[Row, ...]


def copy_in(definitions: Mapping[str, bytes]) -> CopiedMetadata | None:
    """The copy among the definitions of a folder; ``None`` where there is none. Raises
    :exc:`Corrupt`."""
    seen = seen_in(definitions)
    return None if seen is None else CopiedMetadata(seen, tuple(_rows(definitions)))


def proposals_in(definitions: Mapping[str, bytes]) -> dict[str, SeenProposal]:
    """The last proposal that a folder with these definitions has seen of each node, by its name.
    Raises :exc:`Corrupt`."""
    return last_proposals(_rows(definitions))


def last_proposals(rows: Iterable[Row]) -> dict[str, SeenProposal]:
    """The last proposal of each node in ``rows``, by its name. Raises :exc:`Corrupt`."""
    return {
        row.key.removeprefix(PROPOSALS): seen_proposal(row)
        for row in rows
        if row.key.startswith(PROPOSALS)
    }


def _rows(definitions: Mapping[str, bytes]) -> Iterator[Row]:
    for key, value in definitions.items():
        if key.startswith(_PREFIX):
            if len(value) < _HEAD.size:
                raise Corrupt(f"the copy of {key.removeprefix(_PREFIX)!r} can't be read")
            revision, created = _HEAD.unpack_from(value)
            yield Row(key.removeprefix(_PREFIX), value[_HEAD.size :], revision, 0, created)
