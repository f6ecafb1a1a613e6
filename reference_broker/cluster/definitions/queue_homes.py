"""The homes of the queues that are there, and the queues whose home was forgotten.

Who forgets a node removes one key. Its durable queues are nobody's from then on: they are deleted
like other leftovers, if no node of that name has joined before. The queues that ended with a run
of the node are :mod:`orphans` already.
"""

from __future__ import annotations

from collections import Counter

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.definitions.orphans import GuardedLeftovers
from reference_broker.cluster.definitions.placement import NodeRun
from reference_broker.cluster.metadata.feed import Works
from reference_broker.cluster.metadata.keys import MEMBERS
from reference_broker.cluster.metadata.view import View
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.task import Steps

LOOKED_AT_PER_UNIT = 128
"""Queues of which the homes are looked at in the time of a unit."""


class QueueHomes:
    """A follower of the ``members/`` keys. ``work`` is the broker's, with the ``budget`` of its
    turns."""

    def __init__(
        self, view: View, leftovers: GuardedLeftovers, work: Works, budget: Budget
    ) -> None:
        self._view = view
        self._leftovers = leftovers
        self._work = work
        self._budget = budget
        self._homes: dict[str, NodeRun] = {}
        self.by_node: Counter[str] = Counter()
        """Numbers of queues that are there, by home. Read only."""
        self.durable_by_node: Counter[str] = Counter()
        """Of those that do not end with a run of it. Read only."""

    def entered(self, key: str, home: NodeRun) -> None:
        """A queue is there. Its home may be forgotten by now: who placed it there did not know."""
        self._homes[key] = home
        self.by_node[home.node] += 1
        if not home.run:
            self.durable_by_node[home.node] += 1
            if not self._is_member(home.node):
                self._leftovers.add(key, MEMBERS + home.node)

    def left(self, key: str) -> None:
        """The definition is gone; it need not be that of a queue. Idempotent."""
        home = self._homes.pop(key, None)
        if home is not None:
            self.by_node[home.node] -= 1
            if not home.run:
                self.durable_by_node[home.node] -= 1

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`."""
        node = event.key.removeprefix(MEMBERS)
        if event.value is None and self.durable_by_node[node]:
            self._work.start(self._handed_over(node), "")

    def _handed_over(self, node: str) -> Steps:
        """The steps of having the queues of a forgotten node removed, unless it joins anew."""
        self._budget.left -= len(self._homes) // LOOKED_AT_PER_UNIT
        left = [key for key, home in self._homes.items() if home == NodeRun(node, 0)]
        for key in left:
            if self._is_member(node):
                return
            self._leftovers.add(key, MEMBERS + node)
            self._budget.left -= 1
            if self._budget.left <= 0:
                yield None

    def _is_member(self, node: str) -> bool:
        return self._view.revision_of(MEMBERS + node) > 0
