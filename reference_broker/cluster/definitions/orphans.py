"""Orphans: the definitions of exclusive and transient queues whose node is there no more, or in
another run.

Nothing of them hangs on a lease: etcd may lose all leases while every node is well, and no client's
queue must go for that. They are deleted like other leftovers, if the node's ``live/`` key is still
as it was when that was decided.
"""

from __future__ import annotations

from typing import Protocol

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.metadata.keys import LIVE
from reference_broker.cluster.pause import Timer

LOOK_S = 1.0
"""Seconds between two looks at a node whose key is gone, and whose heartbeats come."""


class GuardedLeftovers(Protocol):
    """Who removes what is nobody's (:class:`~.leftovers.Leftovers`)."""

    def add(self, key: str, guard: str | None = None) -> None:
        """The definition is nobody's, as long as the key ``guard`` is not written."""
        ...


class Orphans:
    """A follower of the ``live/`` keys. ``after`` is the broker's timer."""

    def __init__(self, live_nodes: LiveNodes, leftovers: GuardedLeftovers, after: Timer) -> None:
        self._live_nodes = live_nodes
        self._leftovers = leftovers
        self._after = after
        self._keys: dict[str, dict[str, int]] = {}
        """By the names of nodes: keys, and the run in which each was defined."""
        self._looks = False

    def entered(self, key: str, node: str, run: int) -> None:
        """``node`` has defined what goes with it."""
        self._keys.setdefault(node, {})[key] = run
        self._look(0)

    def left(self, key: str, node: str) -> None:
        """The definition is gone. Idempotent."""
        keys = self._keys.get(node, {})
        if keys.pop(key, None) is not None and not keys:
            del self._keys[node]

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`."""
        self._look(0)

    def _look(self, delay_s: float) -> None:
        """Look, though not now: :class:`LiveNodes` may be told behind this."""
        if not self._looks and self._keys:
            self._looks = True
            self._after(delay_s, self._look_at_all)

    def _look_at_all(self) -> None:
        self._looks = False
        for node, keys in self._keys.items():
            live = self._live_nodes.by_name.get(node)
            if live is None and self._live_nodes.is_there(node):
                self._look(LOOK_S)
                continue
            for key, run in keys.items():
                if live is None or live.run != run:
                    self._leftovers.add(key, LIVE + node)
