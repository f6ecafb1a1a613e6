"""Rewrites segments in virtual time: a crash, or an error of the disk, may come while a copy is
made, or is ready and nobody has heard of it. All that is decided is the runtime's own
(:class:`reference_broker.runtime.disk.rewriter.Rewriter`); a worker stands for its thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from reference_broker.runtime.disk.rewriter import Looks, Rewriter
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.virtual_worker import StepwiseWorker, VirtualWorker
from reference_broker.simulation.plan.plans import Copying
from reference_broker.store import Disk, Log
from reference_broker.store.liveness.rewrite_plan import RewriteResult
from reference_broker.store.rewrite.copying import SourceUnreadable

INTERVAL_S = 0.1
LOOKS = (1, 3)
"""Looks in a row that must find a segment worth rewriting: one of these for each life of the
broker."""

STEP_US = (100, 30_000)
SLOW_STEP_US = (20_000, 400_000)


class RewritePump(Rewriter):
    """Begins to look when it is made. ``counts`` are of outcomes."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        log: Log,
        disk: Disk,
        kick_disk: Callable[[], None],
        copying: Copying = Copying.BY_STEP,
        copies_slowly: Callable[[], bool] = lambda: False,
    ) -> None:
        self.counts: Counter[str] = Counter()
        looks = Looks(INTERVAL_S, random.choice(LOOKS))
        self._worker: VirtualWorker | StepwiseWorker
        if copying is Copying.AT_ONCE:
            self._worker = VirtualWorker(clock, random)
        else:
            self._worker = StepwiseWorker(
                clock, random, disk, lambda: SLOW_STEP_US if copies_slowly() else STEP_US
            )
            disk = self._worker.disk
        super().__init__(log, disk, self._worker, clock.call_later, kick_disk, looks)
        self.synced()

    def stop(self) -> None:
        """Rewrite no more, from one moment to the next: the process is gone."""
        self._worker.stop()
        if self._timer is not None:
            self._timer.cancel()

    def _finish(self, outcome: RewriteResult | Exception) -> None:
        plan = self._plan
        assert plan is not None
        if isinstance(outcome, RewriteResult):
            self.counts["rewrites"] += 1
            self.counts["segments merged"] += len(plan.sources) > 1
        elif isinstance(outcome, SourceUnreadable):
            self.counts["unreadable sources"] += 1
        else:
            self.counts["failed rewrites"] += 1
        super()._finish(outcome)
