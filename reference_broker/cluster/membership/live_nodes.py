"""The other nodes that are there: by their keys in etcd, and by the heartbeats of their links.

Either is enough. A lease is no proof of death: etcd may have lost all of them while all nodes are
well, and a node whose heartbeats come still serves its clients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.membership.records import LiveRecord, decoded
from reference_broker.cluster.metadata.keys import LIVE
from reference_broker.errors import Corrupt


class Coming(Protocol):
    """Whoever is told which nodes come and go (the barrier is one)."""

    def join(self, node: str) -> None:
        """The node is there. It may be so already."""
        ...

    def leave(self, node: str) -> None:
        """The node is gone, by its key and by its heartbeats."""
        ...


class LiveNodes:
    """A follower of the view's ``live/`` keys, for the node ``own``. ``by_name`` is read only, and
    has the node itself, too; ``report`` is told of a row that can't be read."""

    def __init__(self, own: str, coming: Coming, report: Callable[[str], None]) -> None:
        self._own = own
        self._coming = coming
        self._report = report
        self._records: dict[str, LiveRecord] = {}
        self._heard: dict[str, None] = {}
        self.by_name: Mapping[str, LiveRecord] = self._records

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`."""
        node = event.key.removeprefix(LIVE)
        if event.value is None:
            self._records.pop(node, None)
            self._look_at(node)
            return
        try:
            self._records[node] = decoded(LiveRecord, event.key, event.value)
        except Corrupt as error:
            self._report(str(error))
            return
        self._look_at(node)

    def heard(self, node: str) -> None:
        """A heartbeat of ``node`` has come. Idempotent."""
        self._heard[node] = None
        self._look_at(node)

    def unheard(self, node: str) -> None:
        """The link of ``node`` is down. Idempotent."""
        self._heard.pop(node, None)
        self._look_at(node)

    @property
    def others(self) -> list[str]:
        """The names of all other nodes that are there, in order."""
        return sorted({*self._records, *self._heard} - {self._own})

    def is_there(self, node: str) -> bool:
        """True while the key of the node is there, or its heartbeats come."""
        return node in self._records or node in self._heard

    def _look_at(self, node: str) -> None:
        if node == self._own:
            return
        if self.is_there(node):
            self._coming.join(node)
        else:
            self._coming.leave(node)
