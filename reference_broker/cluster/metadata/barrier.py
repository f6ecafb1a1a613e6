"""The barrier: an -ok waits until every node that serves clients has seen what it is about.

A declare-ok, bind-ok or delete-ok means that every live node routes by it. A node serves while its
``live/`` key is there, or while its heartbeats come, though the key may be gone. One that hangs
holds the barrier up until both have ended, and no longer.
"""

from __future__ import annotations

from collections import deque

from reference_broker.cluster.metadata.view import View
from reference_broker.core.journal.watermark import Watermark

_EVERYTHING = 1 << 62


class Barrier:
    """``passed`` is a watermark of tickets, which are given in turn: each stands for a revision
    that every live node has to have applied, at one moment after the ticket was asked for. So a
    node that was cut off, and is there again with an old view, is waited for by all that comes
    after.

    A node begins to serve when its view has its own ``live/`` key; what was agreed before it has
    seen.
    """

    def __init__(self, view: View) -> None:
        self.passed = Watermark()
        self._view = view
        self._applied: dict[str, int] = {}
        """By the names of the other nodes that are live."""
        self._tickets = 0
        self._open: deque[tuple[int, int]] = deque()
        """Revision and ticket; both rise."""

    @property
    def awaited(self) -> dict[str, int]:
        """The revisions of the other nodes that the barrier waits for, by their names."""
        return dict(self._applied)

    def ticket(self, revision: int) -> int:
        """A ticket for ``revision``: wait until ``passed`` has reached it, which may be now."""
        if self._applied_by_all() >= revision:
            return self.passed.value
        if self._open:
            revision = max(revision, self._open[-1][0])
        self._tickets += 1
        self._open.append((revision, self._tickets))
        return self._tickets

    def join(self, node: str) -> None:
        """``node`` is live from now on: nothing passes that it has not applied. Idempotent."""
        self._applied.setdefault(node, 0)

    def leave(self, node: str) -> None:
        """``node`` serves nobody any more. Idempotent."""
        if self._applied.pop(node, None) is not None:
            self.advance()

    def applied(self, node: str, revision: int) -> None:
        """``node`` has said how far its view is; one that is not live says nothing."""
        if revision > self._applied.get(node, revision):
            self._applied[node] = revision
            self.advance()

    def advance(self) -> None:
        """Look again, as the node's own view has risen."""
        applied, passed = self._applied_by_all(), 0
        while self._open and self._open[0][0] <= applied:
            passed = self._open.popleft()[1]
        self.passed.rise(passed)

    def _applied_by_all(self) -> int:
        return min(self._view.revision.value, *self._applied.values(), _EVERYTHING)
