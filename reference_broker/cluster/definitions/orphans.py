"""Orphans: the definitions of exclusive and transient queues whose node is there no more, or in
another run.

Nothing of them hangs on a lease: etcd may lose all leases while every node is well, and no client's
queue must go for that. They are deleted like other leftovers, if the node's ``live/`` key is still
as it was when that was decided.
"""

from __future__ import annotations

from typing import Protocol

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.definitions.placement import NodeRun
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.metadata.feed import Works
from reference_broker.cluster.metadata.keys import LIVE
from reference_broker.cluster.pause import Timer
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.task import Steps

LOOK_S = 1.0
"""Seconds between two looks at a node whose key is gone, and whose heartbeats come."""


class GuardedLeftovers(Protocol):
    """Who removes what is nobody's (:class:`~.leftovers.Leftovers`)."""

    def add(self, key: str, guard: str | None = None) -> None:
        """The definition is nobody's, as long as the key ``guard`` is not written."""
        ...


class Orphans:
    """A follower of the ``live/`` keys. ``work`` is the broker's, with the ``budget`` of its turns,
    and ``after`` its timer."""

    def __init__(
        self,
        live_nodes: LiveNodes,
        leftovers: GuardedLeftovers,
        work: Works,
        budget: Budget,
        after: Timer,
    ) -> None:
        self._live_nodes = live_nodes
        self._leftovers = leftovers
        self._work = work
        self._budget = budget
        self._after = after
        self._keys: dict[NodeRun, dict[str, None]] = {}
        self._looks = False

    def entered(self, key: str, of: NodeRun) -> None:
        """A node has defined, in that run, what goes with it."""
        if of not in self._keys:
            self._keys[of] = {}
            self._look(0)
        self._keys[of][key] = None

    def left(self, key: str, of: NodeRun) -> None:
        """The definition is gone. Idempotent."""
        keys = self._keys.get(of, {})
        keys.pop(key, None)
        if not keys:
            self._keys.pop(of, None)

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
        for of, keys in self._keys.items():
            if self._are_orphans(of):
                self._work.start(self._handed_over(of, list(keys)), "")
            elif of.node not in self._live_nodes.by_name:
                self._look(LOOK_S)

    def _are_orphans(self, of: NodeRun) -> bool:
        live = self._live_nodes.by_name.get(of.node)
        if live is None:
            return not self._live_nodes.is_there(of.node)
        return live.run != of.run

    def _handed_over(self, of: NodeRun, keys: list[str]) -> Steps:
        """The steps of having them removed, unless the node is there again before their end."""
        for key in keys:
            self._leftovers.add(key, LIVE + of.node)
            self._budget.left -= 1
            if self._budget.left <= 0:
                yield None
                if not self._are_orphans(of):
                    return
