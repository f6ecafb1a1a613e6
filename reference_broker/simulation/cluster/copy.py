"""The definitions as one node has them, held against etcd's history at every revision."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.metadata.keys import DEFINITIONS
from reference_broker.cluster.metadata.view import View
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.etcd.witness import Record


class Copy:
    """A follower of ``def/``: ``values`` by key. Each time that the view has risen they have to be
    what etcd had at that revision; ``revisions_held`` counts these."""

    def __init__(self, node: str, view: View, record: Record, prefix: str) -> None:
        self.values: dict[str, bytes] = {}
        self._node = node
        self._view = view
        self._history = History(record, prefix)
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
        expected = self._history.at(revision)
        self.revisions_held += 1
        if self.values != expected:
            raise LawBroken(
                f"the view of {self._node} at revision {revision} has {self.values}, and etcd had"
                f" {expected}"
            )


class History:
    """The rows of etcd at one revision after another."""

    def __init__(self, record: Record, prefix: str) -> None:
        self._record = record
        self._prefix = prefix
        self._place = 0
        self._values: dict[str, bytes] = {}

    def at(self, revision: int) -> dict[str, bytes]:
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
                    self._values[key] = event.value
            self._place += 1
        return self._values
