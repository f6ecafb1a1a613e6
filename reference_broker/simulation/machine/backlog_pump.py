"""Reads messages back and writes pages in virtual time, first in, first out: a file may be gone, or
another one, by the time it is read. It does what
:class:`reference_broker.runtime.disk.backlog.Backlog` does with a thread."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Protocol

from reference_broker.core.journal.journal import Fetched
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.store import Disk, Log
from reference_broker.store.log.pages import PageBatch, write_pages
from reference_broker.store.log.reading import (
    FileGone,
    ReadJob,
    ReadOutcome,
    perform,
    plan,
    take_reads,
)

JOB_US = (50, 5_000)
SLOW_JOB_US = (20_000, 400_000)
SLOW_JOB_CHANCE = 0.03
ANSWER_US = 200
"""Microseconds from the thread to the loop: the answer knows nothing of what is done meanwhile. The
same for all, as they come in the order of the jobs."""

PAGE_RETRY_US = 10_000_000

_Job = Callable[[], Callable[[], None]]
"""Does the work, and gives the step to take with its result on the loop."""


class BacklogEvents(Protocol):
    """The process, as its backlog sees it."""

    def fetched(self, answers: list[Fetched]) -> None:
        """Messages that queues have asked for were read."""


class BacklogPump:
    """Takes work from ``log`` and its pages at each :meth:`kick`. ``counts`` are of jobs done."""

    def __init__(
        self, clock: SimulatedClock, random: Random, log: Log, disk: Disk, events: BacklogEvents
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._random = random
        self._log = log
        self._disk = disk
        self._events = events
        self._jobs: deque[_Job] = deque()
        self._stopped = False

    def kick(self) -> None:
        """Begin what there is to read or to page. Cheap."""
        if self._stopped:
            return
        for job in take_reads(self._log):
            self._submit(partial(self._read, job))
        batch = self._log.pages.take_batch()
        if batch is not None:
            self._submit(partial(self._write, batch))

    def stop(self) -> None:
        """Read and page no more: the process is gone, or stops."""
        self._stopped = True

    def _submit(self, job: _Job) -> None:
        self._jobs.append(job)
        if len(self._jobs) == 1:
            self._later(self._duration(), self._do_next)

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

    # The thread's part, and then the loop's

    def _read(self, job: ReadJob) -> Callable[[], None]:
        try:
            outcome = perform(self._disk, job)
        except FileGone as gone:
            return partial(self._again, job, gone.file)
        return partial(self._answer, outcome)

    def _answer(self, outcome: ReadOutcome) -> None:
        self.counts["reads"] += 1
        for damage in outcome.unreadable:
            self.counts["unreadable"] += 1
            self._log.damaged(damage.position)
        self._events.fetched([outcome.fetched])

    def _again(self, job: ReadJob, file: str) -> None:
        self.counts["reads of a file that was gone"] += 1
        again = plan(job.request, self._log, job.gone | {file})
        self._submit(partial(self._read, again))

    def _write(self, batch: PageBatch) -> Callable[[], None]:
        error = write_pages(self._disk, batch)
        return partial(self._wrote, batch, error)

    def _wrote(self, batch: PageBatch, error: OSError | None) -> None:
        if error is None:
            self.counts["messages paged"] += len(batch.positions)
            self._log.pages.written(batch)
            self.kick()
        else:
            self._log.pages.failed(batch)
            self._later((PAGE_RETRY_US, PAGE_RETRY_US), self._page_again)

    def _page_again(self) -> None:
        self._submit(partial(self._write, self._log.pages.retry()))
