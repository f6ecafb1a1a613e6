"""The disk thread: performs the log's batches, so that the event loop doesn't wait for the disk.
Small ones on a quick disk the loop performs by itself
(:mod:`reference_broker.runtime.disk.loop_syncs`).

Group commit forms by itself: while one batch is being synced the next one collects, and a lone
record is not made to wait for company.

The thread needs the interpreter after each write and each sync, some 60 times for 8 MiB. A loop
whose turns follow each other lets go of it for moments only, and takes it back before the thread is
awake: such a batch took 150 ms and more, and whoever waited for its confirm waited so long. So at
the end of a turn the loop stands aside for a batch that is late: until it is written, and a moment
at a time while it is synced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import NamedTuple

from reference_broker.errors import DiskFailed
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.runtime.disk.log_writer import DiskState, LogWriter, Outcome, attempt
from reference_broker.runtime.disk.loop_syncs import LoopSyncs
from reference_broker.store import Disk, Log, Operation, RecoveredLog, open_log
from reference_broker.store.log.pages import discard_pages

DESCRIPTOR_RETRY_S = 0.1
"""Seconds between two tries of an operation for which there was no file descriptor."""

LATE_S = 0.01
"""Seconds after which a batch that is not written yet may be slow for want of the interpreter."""

SYNC_LATE_S = 0.03
"""Seconds after which the sync of a batch may have ended, and the thread not have been able to say
so."""

WRITTEN_WITHIN_S = 0.008
"""Seconds that the loop stands aside, at most, until a batch that is late is written: as long as
Linux takes for some 16 MiB."""

SYNCED_WITHIN_S = 0.0005
"""Seconds that the loop stands aside for a sync that may have ended."""

SYNC_ASIDE_EVERY_S = 0.005
"""Seconds between two times of that: a loop that has slept finds nothing of its own in the
processor's cache, so each costs more than it takes."""


class OpenedStore(NamedTuple):
    """A recovered store: hand ``log`` and ``folder`` to a :class:`DiskThread`."""

    log: Log
    recovered: RecoveredLog
    folder: DataFolder


def open_store(directory: Path) -> OpenedStore:
    """Lock ``directory``, recover what it holds, and begin a new epoch; all of it is durable when
    this returns. The caller rebuilds its queues (see :func:`reference_broker.store.open_log`).
    The folder is closed by :meth:`DiskThread.close`, or by the caller where there is none.

    Raises :exc:`DataDirectoryLocked`; :exc:`DiskFailed` when the folder can't be read or written;
    :exc:`StoreError` when it was written by a version that isn't known.
    """
    try:
        folder = DataFolder(directory)
        try:
            discard_pages(folder)
            log, recovered = open_log(folder)
        except BaseException:
            folder.close()
            raise
    except OSError as error:
        raise DiskFailed(f"can't use the data folder {directory}: {error}") from error
    return OpenedStore(log, recovered, folder)


class DiskThread(LogWriter):
    """Owns the thread, and ``disk`` from now on. ``call_soon_threadsafe`` is how the disk thread
    gets to the event loop's; the rest is as in :class:`LogWriter`."""

    def __init__(
        self,
        log: Log,
        disk: Disk,
        call_soon_threadsafe: Callable[[Callable[[], None]], object],
        call_later: Callable[[float, Callable[[], None]], object],
        loop_syncs: LoopSyncs,
        on_synced: Callable[[int], None],
        on_failed: Callable[[DiskFailed], None],
        on_full: Callable[[], None],
        on_spare: Callable[[], None],
    ) -> None:
        super().__init__(log, disk, call_later, loop_syncs, on_synced, on_failed, on_full, on_spare)
        self._call_soon_threadsafe = call_soon_threadsafe
        self._began_s = 0.0
        self._aside_at_s = 0.0
        """The next time that the loop may stand aside."""
        self._written = Event()
        """Set when the batch on its way is written, and has to be synced at most."""
        self._closing = Event()
        self._work: SimpleQueue[list[Operation] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._thread = Thread(target=self._run, name="disk", daemon=True)
        self._thread.start()

    def close(self, *, clean: bool = True) -> None:
        """As :meth:`end`; and end the thread, and close the disk. Idempotent."""
        if self.state is DiskState.CLOSED:
            return
        self._closing.set()
        self.end(clean=clean)
        self._work.put(None)
        self._thread.join()
        self._disk.close()

    def _begin(self, operations: list[Operation]) -> None:
        self._began_s = self._loop_syncs.clock()
        self._aside_at_s = self._began_s + LATE_S
        self._written.clear()
        self._work.put(operations)

    def _perform_here(self, operations: Sequence[Operation]) -> Outcome:
        return attempt(self._disk, operations)

    def _wait(self) -> Outcome:
        return self._outcomes.get()

    def _kicked_again(self) -> None:
        """Let the thread have the interpreter, if its batch is late, and settle the batch if that
        was all it wanted."""
        if self._loop_syncs.clock() < self._aside_at_s:
            return
        self._written.wait(WRITTEN_WITHIN_S)
        now_s = self._loop_syncs.clock()
        if now_s < self._began_s + SYNC_LATE_S:
            self._aside_at_s = self._began_s + SYNC_LATE_S
            return
        try:
            outcome = self._outcomes.get(timeout=SYNCED_WITHIN_S)
        except Empty:
            self._aside_at_s = now_s + SYNC_ASIDE_EVERY_S
        else:
            self._settle(outcome)

    def _collect(self) -> None:
        """Take the outcomes that there are: called on the loop for each, and :meth:`close` may have
        been faster."""
        if self.state is DiskState.WRITING and not self._outcomes.empty():
            self._settle(self._outcomes.get())

    def _run(self) -> None:
        """The thread. It touches nothing but the disk and the two queues."""
        while (operations := self._work.get()) is not None:
            outcome = attempt(self._disk, operations, self._written.set)
            if outcome.lacks_descriptor:
                self._closing.wait(DESCRIPTOR_RETRY_S)
            self._outcomes.put(outcome)
            self._written.set()
            try:
                self._call_soon_threadsafe(self._collect)
            except RuntimeError:
                # The loop is closed; DiskThread.close reads the outcome itself.
                continue
