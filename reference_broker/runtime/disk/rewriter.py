"""Rewriting in the background: segments that are mostly dead give their room back.

The log says what is worth it and makes the result count; the copying is done on a thread, so that
neither deliveries nor confirms wait for it. Whatever goes wrong with a copy is no harm: it is left
out, and tried again later.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from reference_broker.runtime.process.timers import CallLater, Timer
from reference_broker.runtime.process.worker import Jobs
from reference_broker.store.disk.ports import Disk
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult
from reference_broker.store.log.log import Log
from reference_broker.store.rewrite.copy_file import CopyFailed
from reference_broker.store.rewrite.copying import SourceUnreadable
from reference_broker.store.rewrite.rewrite import build

RETRY_S = 10.0
"""Seconds after a copy could not be written, for a full disk mostly."""

_log = logging.getLogger(__name__)


class Looks(NamedTuple):
    """The looks for a segment that is worth rewriting."""

    interval_s: float = 0.5
    """Seconds between two of them; after a rewrite the next one is at once."""

    in_a_row: int = 3
    """So many must find a segment worth it. While a queue is drained its segments are half empty
    for a moment only: copying what is about to go would double the work."""


LOOKS = Looks()


class Rewriter:
    """Rewrites the segments that ``log`` plans to, one plan at a time. ``jobs`` do the copying with
    ``disk``; both are nobody else's. ``kick_disk`` is called when the log has a finished copy to
    put in place. All methods are for the event loop's thread."""

    def __init__(
        self,
        log: Log,
        disk: Disk,
        jobs: Jobs,
        call_later: CallLater,
        kick_disk: Callable[[], None],
        looks: Looks = LOOKS,
    ) -> None:
        self.rewrites = 0
        """Copies that were finished."""
        self._log = log
        self._disk = disk
        self._jobs = jobs
        self._call_later = call_later
        self._kick_disk = kick_disk
        self._looks = looks
        self._plan: RewritePlan | None = None
        self._following = False
        """A copy was finished, and the batch that gives it its name is not on disk yet."""
        self._timer: Timer | None = None

    def synced(self) -> None:
        """Look again: the acks of a batch that is on disk may make a segment worth rewriting.
        Cheap."""
        if self._timer is None and self._plan is None:
            delay_s = 0.0 if self._following else self._looks.interval_s
            self._following = False
            self._timer = self._call_later(delay_s, self._begin)

    def close(self) -> None:
        """Drop the rewrite that is under way, and begin none any more. Blocks while the job
        under way is finished. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
        self._jobs.close()
        self._disk.close()
        if self._plan is not None:
            self._log.abandon_rewrite(self._plan)
            self._plan = None

    def _begin(self) -> None:
        self._timer = None
        plan = self._plan = self._log.begin_rewrite(self._looks.in_a_row)
        if plan is not None:
            self._following = True
            self._jobs.submit(partial(_copy, self._disk, plan), self._finish)
        elif self._log.worth_a_look:
            self._timer = self._call_later(self._looks.interval_s, self._begin)

    def _finish(self, outcome: RewriteResult | Exception) -> None:
        plan, self._plan = self._plan, None
        assert plan is not None
        if isinstance(outcome, RewriteResult):
            self.rewrites += 1
            self._log.finish_rewrite(plan, outcome)
            self._kick_disk()
            return
        self._log.abandon_rewrite(plan)
        if isinstance(outcome, SourceUnreadable):
            _log.error("%s; it is not rewritten", outcome)
            self._log.damaged(outcome.position)
        elif isinstance(outcome, CopyFailed):
            _log.warning("%s; tried again in %d s", outcome, RETRY_S)
        else:
            _log.error("rewriting segments failed: tried again in %d s", RETRY_S, exc_info=outcome)
        self._timer = self._call_later(RETRY_S, self._begin)


def _copy(disk: Disk, plan: RewritePlan) -> RewriteResult:
    """Make the copy. The file is the disk thread's from here on, so it isn't kept open."""
    try:
        return build(plan, disk, partial(time.sleep, 0))
    finally:
        disk.close()
