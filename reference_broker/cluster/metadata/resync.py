"""A reading of all rows at one revision, and what has to be done to a view that is older.

The rows are compared by the revision that wrote them. The view may lack many revisions, and their
order is not to be had any more; so what is there goes in by the rank of its kind, and in order of
making within it, after what is gone has gone the other way round: nothing is there without what it
speaks of, at any step.
"""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event, Page, Row
from reference_broker.cluster.metadata.keys import rank_of
from reference_broker.cluster.metadata.view import View

PORTION = 100
"""Events that are applied as one input: as many as a transaction may have."""


class Resync:
    """The pages of one reading. ``revision`` is that of the first page, and to be asked for with
    every further one; ``after`` is the key to go on after."""

    __slots__ = ("_changed", "_gone", "_view", "after", "revision")

    def __init__(self, view: View) -> None:
        self.revision = 0
        self.after = ""
        self._view = view
        self._gone = dict.fromkeys(view.keys())
        """Keys of the view that no page had so far."""
        self._changed: list[Row] = []

    def add(self, page: Page, prefix: str) -> None:
        """Take a page whose keys begin with ``prefix``."""
        self.revision = page.revision
        for row in page.rows:
            key = row.key.removeprefix(prefix)
            self._gone.pop(key, None)
            if self._view.revision_of(key) != row.revision:
                self._changed.append(row._replace(key=key))
        if page.rows:
            self.after = page.rows[-1].key

    def portions(self) -> list[tuple[Event, ...]]:
        """The changes that make the view what was read, in portions, after the last page."""
        gone = sorted(self._gone, key=lambda key: (-rank_of(key), -self._view.revision_of(key)))
        rows = sorted(self._changed, key=lambda row: (rank_of(row.key), row.created, row.key))
        events = [Event(key, None, self.revision) for key in gone]
        events += [Event(row.key, row.value, row.revision, row.lease, row.created) for row in rows]
        return [tuple(events[start : start + PORTION]) for start in range(0, len(events), PORTION)]
