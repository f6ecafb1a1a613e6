"""Messages that are not in memory: those that queues want to read back, and those that they page.

One worker does both, first in, first out, so that a page is read after it was written and deleted
after it was read. The event loop never waits for either.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Protocol

from reference_broker.core.journal.journal import Fetched
from reference_broker.errors import DiskFailed
from reference_broker.runtime.process.timers import CallLater, Timer
from reference_broker.runtime.process.worker import Jobs
from reference_broker.store.disk.ports import Disk
from reference_broker.store.log.log import Log
from reference_broker.store.log.pages import PageBatch, write_pages
from reference_broker.store.log.reading import (
    FileGone,
    ReadJob,
    ReadOutcome,
    lost,
    perform,
    plan,
    take_reads,
)

PAGE_RETRY_S = 10.0
"""Seconds after a page could not be written: nothing is paged until then, the memory alarm has to
do."""

READ_RETRY_S = 1.0
"""Seconds after messages could not be read for the time being: mostly there are too many open
files."""

_log = logging.getLogger(__name__)


class BacklogEvents(Protocol):
    """The server, as the backlog sees it."""

    def fetched(self, answers: list[Fetched]) -> None:
        """Messages that queues have asked for were read."""

    def disk_failed(self, error: DiskFailed) -> None:
        """Reading has met an error that nobody foresaw: a queue would wait for ever."""


class Backlog:
    """Takes work from ``log`` and its pages at each :meth:`kick`, and has it done by ``jobs`` with
    ``disk``; both are nobody else's. All methods are for the event loop's thread."""

    def __init__(
        self,
        log: Log,
        disk: Disk,
        jobs: Jobs,
        call_later: CallLater,
        events: BacklogEvents,
    ) -> None:
        self.unreadable = 0
        """Messages that were wanted and could not be read."""
        self._log = log
        self._pages = log.pages
        self._disk = disk
        self._jobs = jobs
        self._call_later = call_later
        self._events = events
        self._retry: Timer | None = None

    def kick(self) -> None:
        """Begin what there is to read or to page. Cheap; call it after each input."""
        for job in take_reads(self._log):
            self._submit(job)
        batch = self._pages.take_batch()
        if batch is not None:
            self._write(batch)

    def close(self) -> None:
        """Read and page no more. Blocks while the job under way is finished. Idempotent."""
        if self._retry is not None:
            self._retry.cancel()
        self._jobs.close()
        self._disk.close()

    def _submit(self, job: ReadJob) -> None:
        self._jobs.submit(partial(perform, self._disk, job), partial(self._read, job))

    def _read(self, job: ReadJob, outcome: ReadOutcome | Exception) -> None:
        match outcome:
            case ReadOutcome(fetched):
                for damage in lost(self._log, outcome):
                    self.unreadable += 1
                    _log.error(
                        "message %d of queue %d (log position %d) can't be read and is lost: %s",
                        damage.sequence,
                        job.request.queue_id,
                        damage.position,
                        damage.reason,
                    )
                self._events.fetched([fetched])
            case FileGone():
                # It was rewritten since: its messages are in another file now.
                gone = job.gone | {outcome.file}
                self._submit(plan(job.request, self._log, gone))
            case OSError():
                _log.error("can't read (%s): it is tried again in %d s", outcome, READ_RETRY_S)
                self._call_later(READ_RETRY_S, partial(self._read_again, job))
            case _:
                self._fail(outcome)

    def _read_again(self, job: ReadJob) -> None:
        self._submit(plan(job.request, self._log, job.gone))

    def _write(self, batch: PageBatch) -> None:
        self._jobs.submit(partial(write_pages, self._disk, batch), partial(self._wrote, batch))

    def _wrote(self, batch: PageBatch, error: OSError | Exception | None) -> None:
        if error is None:
            self._pages.written(batch)
            self.kick()
        elif isinstance(error, OSError):
            _log.error(
                "can't page (%s): messages stay in memory, it is tried again in %d s",
                error,
                PAGE_RETRY_S,
            )
            self._pages.failed(batch)
            self._retry = self._call_later(PAGE_RETRY_S, self._page_again)
        else:
            self._fail(error)

    def _page_again(self) -> None:
        self._write(self._pages.retry())

    def _fail(self, error: Exception) -> None:
        _log.critical("the backlog's thread failed", exc_info=error)
        self._events.disk_failed(DiskFailed(f"the backlog can't be read: {error!r}"))
