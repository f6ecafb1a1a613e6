"""The decision about a watch that says nothing: is there nothing to say, or is it dead?

A watch at a member that is cut off from the others says nothing for ever. So the revision of the
store is read at another member now and then: that read is linearizable, and has no answer from one
that is cut off.
"""

from __future__ import annotations

from reference_broker.cluster.coordinator import WATCH_SILENCE_S

COMPARE_EVERY_S = WATCH_SILENCE_S / 3
"""Seconds between two reads: the first one that sees a later revision comes at most that late, and
the watch has two more to get there. Nodes write below their prefix each 10 s, so one that others
share an etcd with ends no sound watch, as a rule; ending one loses nothing."""

PATIENCE = 2
"""Reads that a watch may stay behind a revision."""


class WatchSilence:
    """One watch: the revision that it is behind, and since when."""

    def __init__(self, patience_s: float = PATIENCE * COMPARE_EVERY_S) -> None:
        self._patience_s = patience_s
        self._behind = 0
        self._since = 0.0

    def is_dead(self, now: float, store: int, told: int) -> bool:
        """The store was at revision ``store``, and the watch has told up to ``told``: is it to be
        ended?"""
        if self._behind <= told:
            self._behind, self._since = store, now
        return told < self._behind and now - self._since >= self._patience_s
