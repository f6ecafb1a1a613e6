"""The beat of the event loop: the mark by which other threads see that the loop goes round.

A thread that speaks for the node (its lease, its heartbeats) is silent while the loop stands, so
all of them look at this one mark.
"""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.runtime.process.boot_clock import boot_clock
from reference_broker.runtime.process.timers import CallLater

BEAT_EVERY_S = 0.5
"""Seconds between two beats: several fit into the time that the loop may stand."""


class LoopBeat:
    """Beats from now on, by the ``call_later`` of a loop, until :meth:`stop`. ``at`` is the time of
    the last beat by ``clock``; any thread may read it."""

    def __init__(self, call_later: CallLater, clock: Callable[[], float] = boot_clock) -> None:
        self.clock = clock
        self._call_later = call_later
        self._beat()

    def stop(self) -> None:
        """Beat no more: for the others the loop stands. Idempotent."""
        self._next.cancel()

    def _beat(self) -> None:
        self.at = self.clock()
        self._next = self._call_later(BEAT_EVERY_S, self._beat)
