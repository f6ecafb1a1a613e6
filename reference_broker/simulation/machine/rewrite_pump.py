"""Rewrites segments in virtual time, one operation of the copy at a time: a crash, or an error of
the disk, may come between any two. It does what
:class:`reference_broker.runtime.disk.rewriter.Rewriter` does with a thread."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from random import Random

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.store import Disk, Log, Operation
from reference_broker.store.disk.disk_view import DiskView
from reference_broker.store.disk.ports import DeleteFile
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult
from reference_broker.store.rewrite.copy_file import CopyFailed
from reference_broker.store.rewrite.copying import SourceUnreadable
from reference_broker.store.rewrite.rewrite import build

INTERVAL_US = 100_000
LOOKS = (1, 3)
"""Looks in a row that must find a segment worth rewriting: one of these for each life of the
broker."""

RETRY_US = 10_000_000
OPERATION_US = (100, 30_000)


class RewritePump:
    """Rewrites the segments that ``log`` plans to, one plan at a time. ``kick_disk`` is called when
    a finished copy has to be put in its place. ``counts`` are of outcomes."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        log: Log,
        disk: Disk,
        kick_disk: Callable[[], None],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._random = random
        self._log = log
        self._disk = disk
        self._kick_disk = kick_disk
        self._plan: RewritePlan | None = None
        self._result: RewriteResult | None = None
        self._todo: deque[Operation] = deque()
        self._looks = random.choice(LOOKS)
        self._armed = False
        self._stopped = False
        self.synced()

    def synced(self) -> None:
        """Look now, or soon, for a segment that is worth rewriting. Cheap."""
        if not self._armed and self._plan is None:
            self._begin_in(INTERVAL_US)

    def stop(self) -> None:
        """Drop the rewrite that is under way: the process is gone, or stops."""
        self._stopped = True
        if self._plan is not None:
            self._log.abandon_rewrite(self._plan)

    def _begin_in(self, delay_us: int) -> None:
        self._armed = True
        self._clock.after(delay_us, self._begin)

    def _begin(self) -> None:
        self._armed = False
        if self._stopped:
            return
        plan = self._plan = self._log.begin_rewrite(self._looks)
        if plan is None:
            if self._log.worth_a_look:
                self._begin_in(INTERVAL_US)
            return
        rehearsal = _Rehearsal(self._disk)
        try:
            self._result = build(plan, rehearsal)
        except SourceUnreadable as unreadable:
            self.counts["unreadable sources"] += 1
            self._give_up(plan)
            self._log.damaged(unreadable.position)
            return
        except CopyFailed:
            self.counts["failed rewrites"] += 1
            self._give_up(plan)
            return
        # Its sources don't change any more, so it is the same when they are read.
        self._todo.extend(rehearsal.operations)
        self._schedule()

    def _schedule(self) -> None:
        self._clock.after(self._random.randint(*OPERATION_US), self._step)

    def _step(self) -> None:
        if self._stopped:
            return
        plan, result = self._plan, self._result
        assert plan is not None
        assert result is not None
        try:
            self._disk.perform(self._todo.popleft())
        except OSError:
            self.counts["failed rewrites"] += 1
            with suppress(OSError):
                self._disk.perform(DeleteFile(plan.name.copy_file))
            self._disk.close()
            self._give_up(plan)
            return
        if self._todo:
            self._schedule()
            return
        self._disk.close()
        self.counts["rewrites"] += 1
        self.counts["segments merged"] += len(plan.sources) > 1
        self._plan = self._result = None
        self._log.finish_rewrite(plan, result)
        self._kick_disk()

    def _give_up(self, plan: RewritePlan) -> None:
        self._todo.clear()
        self._plan = self._result = None
        self._log.abandon_rewrite(plan)
        self._begin_in(RETRY_US)


class _Rehearsal(DiskView):
    """A disk that performs nothing: ``operations`` are those that were asked for."""

    def __init__(self, disk: Disk) -> None:
        super().__init__(disk)
        self.operations: list[Operation] = []

    def perform(self, operation: Operation) -> None:
        self.operations.append(operation)

    def close(self) -> None:
        """Do nothing: nothing is held."""
