"""The law of deletions: nothing goes but by somebody's will, and no id of a queue comes again.

A definition counts no more only when a transaction deletes it, or something that it speaks of. No
client deletes what is called :data:`KEPT`: such a queue goes with its virtual host or, if it is
exclusive, with its connection; such an exchange with its last binding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.cluster.coordinator import Changed
from reference_broker.cluster.definitions.shared_value import SharedValue
from reference_broker.cluster.membership.records import LiveRecord, decoded
from reference_broker.cluster.metadata.keys import DEFINITIONS, LIVE
from reference_broker.core.exchange.definitions import decode_binding, decode_exchange, decode_queue
from reference_broker.core.journal.definition_keys import BINDING, EXCHANGE, QUEUE
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.shape import counting_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from reference_broker.simulation.etcd.witness import Record

KEPT = "c"

Counting = dict[str, tuple[SharedValue, int]]


class Deletions:
    """The deletions of a run, held against the record of etcd. Whose connection with an exclusive
    queue ends says so before, by :meth:`let_go`. One whose node is not there, by its
    ``live/`` key, may go as well."""

    def __init__(self, record: Record, prefix: str) -> None:
        self._record = record
        self._prefix = prefix
        self._held: dict[int, int] = {}
        """Exclusive queues by id: the revision at which the connection ended, 0 for none."""
        self._runs: dict[str, int] = {}
        self._ids: dict[int, tuple[str, int]] = {}
        """Of queues: the key, and the revision that made it."""

    def declared(self, queue_id: int) -> None:
        """A connection has the exclusive queue of that id now."""
        self._held.setdefault(queue_id, 0)

    def let_go(self, queue_id: int) -> None:
        """The connection that has the queue ends now."""
        if not self._held.get(queue_id, 1):
            self._held[queue_id] = self._record.revision

    def hold(self) -> int:
        """Hold all; returns how many transactions deleted something. Raises :exc:`LawBroken`."""
        rows: dict[str, tuple[bytes, int]] = {}
        head = self._prefix + DEFINITIONS
        held = 0
        for changed in self._record.changes:
            if any(event.key.startswith(head) for event in changed.events):
                held += self._apply(changed, rows)
            self._see_nodes(changed)
        return held

    def _see_nodes(self, changed: Changed) -> None:
        """Take over which nodes are there, in which run."""
        head = self._prefix + LIVE
        for event in changed.events:
            if event.key.startswith(head):
                name = event.key.removeprefix(head)
                self._runs.pop(name, None)
                if event.value is not None:
                    self._runs[name] = decoded(LiveRecord, event.key, event.value).run

    def _apply(self, changed: Changed, rows: dict[str, tuple[bytes, int]]) -> bool:
        before = counting_in(rows)
        deleted = []
        for event in changed.events:
            key = event.key.removeprefix(self._prefix)
            if not key.startswith(DEFINITIONS):
                continue
            if event.value is None:
                rows.pop(key, None)
                deleted.append(key.removeprefix(DEFINITIONS))
            else:
                rows[key] = event.value, changed.revision
        after = counting_in(rows)
        self._hold_ids(after)
        for key in before:
            if key not in after and not _is_explained(key, before, deleted):
                raise LawBroken(
                    f"{key} is gone, and nobody has deleted it: at revision {changed.revision}"
                    f" {deleted} were"
                )
        for key in deleted:
            if key in before:
                self._hold_kept(key, before, after, changed.revision)
        return bool(deleted)

    def _hold_ids(self, counting: Counting) -> None:
        for key, (value, made_at) in counting.items():
            if key.startswith(QUEUE + "/"):
                queue_id = decode_queue(value.body).id
                if self._ids.setdefault(queue_id, (key, made_at)) != (key, made_at):
                    raise LawBroken(f"{key} has the id {queue_id} of {self._ids[queue_id]}")

    def _hold_kept(self, key: str, before: Counting, after: Counting, revision: int) -> None:
        kind, _, rest = key.partition("/")
        value = before[key][0]
        why = None
        if kind == QUEUE:
            queue = decode_queue(value.body)
            if queue.exclusive and self._runs.get(value.home) == value.run:
                ended_at = self._held.get(queue.id)
                if ended_at is not None and not 0 < ended_at < revision:
                    why = "its connection is there"
            elif queue.survives_restart and queue.name == KEPT:
                why = "clients keep it"
        elif kind == EXCHANGE and decode_exchange(value.body).name == KEPT:
            bound = _bound_to(rest, before)
            if not decode_exchange(value.body).auto_delete:
                why = "clients keep it"
            elif not bound and not value.made_at:
                why = "it never had a binding"
            elif any(binding in after for binding in bound):
                why = "it has a binding"
        if why is not None:
            raise LawBroken(f"{key} is gone, and nobody has deleted it: {why}")


def _is_explained(key: str, before: Counting, deleted: Collection[str]) -> bool:
    if key in deleted:
        return True
    spoken_of = [spoken for spoken, _ in before[key][0].speaks_of]
    return any(each in deleted or _is_explained_in(each, before, deleted) for each in spoken_of)


def _is_explained_in(key: str, before: Counting, deleted: Collection[str]) -> bool:
    return key in before and _is_explained(key, before, deleted)


def _bound_to(exchange: str, counting: Mapping[str, tuple[SharedValue, int]]) -> list[str]:
    """The bindings from an exchange, given as ``vhost/name``."""
    vhost, _, name = exchange.partition("/")
    head = f"{BINDING}/{vhost}/"
    return [
        key
        for key, (value, _) in counting.items()
        if key.startswith(head) and decode_binding(value.body).source == name
    ]
