"""Workers in virtual time, in place of the runtime's threads
(:class:`reference_broker.runtime.process.worker.Worker`).

A worker does a job at one moment, or one operation of its disk after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeVar

from reference_broker.simulation.events.clock import Pending, SimulatedClock
from reference_broker.store import Disk
from reference_broker.store.disk.disk_view import DiskView
from reference_broker.store.disk.ports import Operation
from reference_broker.store.log.reading import FileGone
from reference_broker.store.rewrite.copy_file import CopyFailed
from reference_broker.store.rewrite.copying import SourceUnreadable

JOB_US = (50, 5_000)
SLOW_JOB_US = (20_000, 400_000)
SLOW_JOB_CHANCE = 0.03
ANSWER_US = 200
"""Microseconds from the thread to the loop: the answer knows nothing of what is done meanwhile. The
same for all, as they come in the order of the jobs."""

_US_PER_S = 1_000_000

Result = TypeVar("Result")

Ended = Callable[[], None]
"""Tells whoever wanted a job of its outcome."""


class VirtualWorker:
    """Does each job at one moment, some time after it was submitted."""

    def __init__(self, clock: SimulatedClock, random: Random) -> None:
        self._clock = clock
        self._random = random
        self._jobs: deque[Callable[[], Ended]] = deque()
        self._stopped = False

    def submit(
        self, work: Callable[[], Result], done: Callable[[Result | Exception], None]
    ) -> None:
        self._jobs.append(partial(_attempt, work, done))
        if len(self._jobs) == 1:
            self._later(self._duration(), self._do_next)

    def stop(self) -> None:
        """Do nothing any more, from one moment to the next: the process is gone."""
        self._stopped = True

    def close(self) -> None:
        """Drop all jobs: there is none that has begun and not ended. Idempotent."""
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


class StepwiseWorker:
    """Does one job at a time, and each of its steps on a disk of its own at a time of its own: a
    crash, or a request, may come between any two. ``step_us`` says how long one takes.

    A job is done over :attr:`disk`. It is rehearsed first, so what it reads it reads at once; then
    it is performed step by step. Where one fails the job is done again up to there, and meets that
    error, so that it is its own code that says what comes of it.
    """

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        disk: Disk,
        step_us: Callable[[], tuple[int, int]],
    ) -> None:
        self.disk = RehearsedDisk(disk)
        self._clock = clock
        self._random = random
        self._step_us = step_us
        self._job: Callable[[], Ended] | None = None
        self._ended: Ended | None = None
        """The outcome of the job under way, if nothing fails any more."""
        self._performed = 0
        self._stopped = False

    def submit(
        self, work: Callable[[], Result], done: Callable[[Result | Exception], None]
    ) -> None:
        assert self._ended is None, "the job before is still under way"
        self._job = partial(_attempt, work, done)
        self._performed = 0
        self._ended = self.disk.rehearse(self._job)
        self._go_on()

    def stop(self) -> None:
        """Do nothing any more, from one moment to the next: the process is gone."""
        self._stopped = True

    def close(self) -> None:
        """Do at once what is left of the job under way. Nothing is called any more. Idempotent."""
        if self._ended is not None and not self._stopped:
            while self._performed < len(self.disk.steps):
                self._perform()
        self._stopped = True

    def _go_on(self) -> None:
        if self._performed < len(self.disk.steps):
            self._later(self._random.randint(*self._step_us()), self._step)
        else:
            self._later(ANSWER_US, self._tell)

    def _step(self) -> None:
        self._perform()
        self._go_on()

    def _perform(self) -> None:
        number = self._performed
        self._performed += 1
        try:
            self.disk.steps[number]()
        except OSError as error:
            assert self._job is not None
            self._ended = self.disk.rehearse(self._job, failed=number, error=error)

    def _tell(self) -> None:
        ended, self._ended = self._ended, None
        assert ended is not None
        ended()

    def _later(self, delay_us: int, callback: Callable[[], None]) -> None:
        def unless_stopped() -> None:
            if not self._stopped:
                callback()

        self._clock.after(delay_us, unless_stopped)


class RehearsedDisk(DiskView):
    """A disk that does nothing while a job is rehearsed: ``steps`` are what that has asked for.
    What was read once is read alike when the job is done again, as no file changes that it reads.
    """

    def __init__(self, disk: Disk) -> None:
        super().__init__(disk)
        self.steps: list[Callable[[], None]] = []
        self._rehearsing = False
        self._failures: dict[int, OSError] = {}
        self._read: dict[tuple[str, int, int], bytes] = {}

    def rehearse(
        self, job: Callable[[], Ended], failed: int = -1, error: OSError | None = None
    ) -> Ended:
        """Have the job say what it wants done; again, where its step ``failed`` has met an
        ``error``. 0 is its first step."""
        if error is None:
            self._failures = {}
            self._read = {}
        else:
            self._failures[failed] = error
        self.steps = []
        self._rehearsing = True
        ended = job()
        self._rehearsing = False
        return ended

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        place = (file, offset, size_bytes)
        if place not in self._read:
            self._read[place] = self._disk.read_range(*place)
        return self._read[place]

    def perform(self, operation: Operation) -> None:
        self._do(partial(self._disk.perform, operation))

    def close(self) -> None:
        self._do(self._disk.close)

    def _do(self, step: Callable[[], None]) -> None:
        if not self._rehearsing:
            step()
            return
        self.steps.append(step)
        if error := self._failures.get(len(self.steps) - 1):
            raise error


def _attempt(work: Callable[[], Result], done: Callable[[Result | Exception], None]) -> Ended:
    """As on a thread; but what nobody foresees is a finding, and goes on to whoever runs this."""
    try:
        return partial(done, work())
    except (OSError, FileGone, CopyFailed, SourceUnreadable) as error:
        return partial(done, error)
