"""Reads messages back and writes pages in virtual time, first in, first out: a file may be gone, or
another one, by the time it is read. All that is decided is the runtime's own
(:class:`reference_broker.runtime.disk.backlog.Backlog`); this stands for its thread."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Protocol, TypeVar

from reference_broker.core.journal.journal import Fetched
from reference_broker.errors import DiskFailed
from reference_broker.runtime.disk.backlog import PAGE_RETRY_S, Backlog
from reference_broker.simulation.events.clock import Pending, SimulatedClock
from reference_broker.store import Disk, Log
from reference_broker.store.log.pages import PageBatch
from reference_broker.store.log.reading import FileGone, ReadJob, ReadOutcome

JOB_US = (50, 5_000)
SLOW_JOB_US = (20_000, 400_000)
SLOW_JOB_CHANCE = 0.03
ANSWER_US = 200
"""Microseconds from the thread to the loop: the answer knows nothing of what is done meanwhile. The
same for all, as they come in the order of the jobs."""

_US_PER_S = 1_000_000
PAGE_RETRY_US = int(PAGE_RETRY_S * _US_PER_S)

Result = TypeVar("Result")


class BacklogEvents(Protocol):
    """The process, as its backlog sees it."""

    def fetched(self, answers: list[Fetched]) -> None:
        """Messages that queues have asked for were read."""


class VirtualWorker:
    """Does the work of :class:`reference_broker.runtime.process.worker.Worker` in virtual time."""

    def __init__(self, clock: SimulatedClock, random: Random) -> None:
        self._clock = clock
        self._random = random
        self._jobs: deque[Callable[[], Callable[[], None]]] = deque()
        self._stopped = False

    def submit(
        self, work: Callable[[], Result], done: Callable[[Result | Exception], None]
    ) -> None:
        self._jobs.append(partial(_attempt, work, done))
        if len(self._jobs) == 1:
            self._later(self._duration(), self._do_next)

    def close(self) -> None:
        """Nothing is done any more, and nothing is called."""
        self._stopped = True

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Pending:
        """Call back in virtual time, unless it is closed by then."""
        timer = Pending(callback)
        delay_us = int(seconds * _US_PER_S)
        self._later((delay_us, delay_us), timer.come)
        return timer

    def _duration(self) -> tuple[int, int]:
        return SLOW_JOB_US if self._random.random() < SLOW_JOB_CHANCE else JOB_US

    def _do_next(self) -> None:
        done = self._jobs[0]()
        self._jobs.popleft()
        if self._jobs:
            self._later(self._duration(), self._do_next)
        self._later((ANSWER_US, ANSWER_US), done)

    def _later(self, span_us: tuple[int, int], callback: Callable[[], None]) -> None:
        def unless_stopped() -> None:
            if not self._stopped:
                callback()

        self._clock.after(self._random.randint(*span_us), unless_stopped)


def _attempt(
    work: Callable[[], Result], done: Callable[[Result | Exception], None]
) -> Callable[[], None]:
    """As on a thread; but what nobody foresees is a finding, and goes on to whoever runs this."""
    try:
        return partial(done, work())
    except (OSError, FileGone) as error:
        return partial(done, error)


class BacklogPump(Backlog):
    """Takes work from ``log`` and its pages at each :meth:`kick`. ``counts`` are of jobs done."""

    def __init__(
        self, clock: SimulatedClock, random: Random, log: Log, disk: Disk, events: BacklogEvents
    ) -> None:
        self.counts: Counter[str] = Counter()
        worker = VirtualWorker(clock, random)
        super().__init__(log, disk, worker, worker.call_later, _Events(events))
        self._stopped = False

    def kick(self) -> None:
        if not self._stopped:
            super().kick()

    def stop(self) -> None:
        """Read and page no more: the process is gone."""
        self._stopped = True
        self._jobs.close()

    def close(self) -> None:
        self._stopped = True
        super().close()

    def _read(self, job: ReadJob, outcome: ReadOutcome | Exception) -> None:
        lost = self.unreadable
        super()._read(job, outcome)
        self.counts["unreadable"] += self.unreadable - lost
        self.counts["reads"] += isinstance(outcome, ReadOutcome)
        self.counts["reads of a file that was gone"] += isinstance(outcome, FileGone)
        self.counts["reads that were tried again"] += isinstance(outcome, OSError)

    def _wrote(self, batch: PageBatch, error: OSError | Exception | None) -> None:
        if error is None:
            self.counts["messages paged"] += len(batch.positions)
        super()._wrote(batch, error)


class _Events:
    """The process, with what no simulated backlog ever tells it."""

    def __init__(self, events: BacklogEvents) -> None:
        self.fetched = events.fetched

    def disk_failed(self, error: DiskFailed) -> None:
        raise error
