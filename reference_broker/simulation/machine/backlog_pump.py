"""Reads messages back and writes pages in virtual time, first in, first out: a file may be gone, or
another one, by the time it is read. All that is decided is the runtime's own
(:class:`reference_broker.runtime.disk.backlog.Backlog`); this stands for its thread."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Protocol

from reference_broker.core.journal.journal import Fetched
from reference_broker.errors import DiskFailed
from reference_broker.runtime.disk.backlog import PAGE_RETRY_S, Backlog
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.virtual_worker import VirtualWorker
from reference_broker.store import Disk, Log
from reference_broker.store.log.pages import PageBatch
from reference_broker.store.log.reading import FileGone, ReadJob, ReadOutcome

_US_PER_S = 1_000_000
PAGE_RETRY_US = int(PAGE_RETRY_S * _US_PER_S)


class BacklogEvents(Protocol):
    """The process, as its backlog sees it."""

    def fetched(self, answers: list[Fetched]) -> None:
        """Messages that queues have asked for were read."""


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
