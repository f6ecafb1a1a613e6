"""The barrier: how far every node that serves clients has seen the metadata.

A declare-ok, bind-ok or delete-ok means that every live node routes by it. A node serves while its
``live/`` key is there, or while its heartbeats come, though the key may be gone. One that hangs
holds the barrier up until both have ended, and no longer.
"""

from __future__ import annotations

from reference_broker.cluster.metadata.view import View
from reference_broker.core.journal.watermark import Watermark


class Barrier:
    """``passed`` is a watermark: the highest revision that every live node has applied. A node
    begins to serve when its view has its own ``live/`` key, so one that comes later has seen all
    that was passed before."""

    def __init__(self, view: View) -> None:
        self.passed = Watermark()
        self._view = view
        self._applied: dict[str, int] = {}
        """By the names of the other nodes that are live."""

    @property
    def awaited(self) -> dict[str, int]:
        """The revisions of the other nodes that the barrier waits for, by their names."""
        return dict(self._applied)

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
        self.passed.rise(min(self._view.revision.value, *self._applied.values(), 1 << 62))
