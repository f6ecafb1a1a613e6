"""The definitions as one node has them, held against etcd's history at every revision: the rows of
its view, and what its broker has made of them."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.metadata.keys import DEFINITIONS
from reference_broker.cluster.metadata.view import View
from reference_broker.core.broker import Broker
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.shape import Rows, shape_in, shape_of
from reference_broker.simulation.etcd.witness import Record


class Copy:
    """A follower of ``def/``: ``values`` by key. Each time that the view has risen they have to be
    what etcd had at that revision, and ``broker`` has to have just what they amount to;
    ``revisions_held`` counts these."""

    def __init__(self, node: str, view: View, history: History, broker: Broker) -> None:
        self.values: dict[str, bytes] = {}
        self.rows: Rows = {}
        self._node = node
        self._view = view
        self._broker = broker
        self._history = history
        self.revisions_held = 0
        view.follow(DEFINITIONS, self)
        view.listen(self._risen)

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`."""
        if event.value is None:
            if event.key not in self.values:
                raise LawBroken(f"{self._node} was told twice that {event.key} is gone")
            del self.values[event.key]
        else:
            self.values[event.key] = event.value

    def _risen(self) -> None:
        revision = self._view.revision.value
        rows = self.rows = self._history.at(revision)
        expected = {key: value for key, (value, _) in rows.items()}
        self.revisions_held += 1
        if self.values != expected:
            raise LawBroken(
                f"the view of {self._node} at revision {revision} has {self.values}, and etcd had"
                f" {expected}"
            )
        shape, due = shape_of(self._broker), shape_in(rows)
        if shape != due:
            extra, lacking = sorted(shape - due, key=str), sorted(due - shape, key=str)
            raise LawBroken(
                f"the broker of {self._node} at revision {revision} has {extra} too much, and lacks"
                f" {lacking}"
            )


class History:
    """The rows of etcd at one revision after another."""

    def __init__(self, record: Record, prefix: str) -> None:
        self._record = record
        self._prefix = prefix
        self._place = 0
        self._values: dict[str, tuple[bytes, int]] = {}

    def at(self, revision: int) -> Rows:
        """The definitions at ``revision``, which is not below the one asked for before."""
        changes = self._record.changes
        while self._place < len(changes) and changes[self._place].revision <= revision:
            for event in changes[self._place].events:
                key = event.key.removeprefix(self._prefix)
                if not key.startswith(DEFINITIONS):
                    continue
                if event.value is None:
                    self._values.pop(key, None)
                else:
                    self._values[key] = event.value, changes[self._place].revision
            self._place += 1
        return self._values
