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

import errno
import logging
from collections.abc import Callable, Sequence
from enum import Enum, auto
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import NamedTuple

from reference_broker.errors import DiskFailed
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.runtime.disk.loop_syncs import LoopSyncs
from reference_broker.store import Batch, Disk, Log, Operation, RecoveredLog, open_log
from reference_broker.store.disk.ports import DISK_FULL, CreateFile, CreateSpare, Sync
from reference_broker.store.log.log import ACKS_UNSYNCED_S
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

_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
"""Errors of a process, or a system, that has too many open files. They come from opening, so
nothing of the operation was done."""

_log = logging.getLogger(__name__)


class DiskState(Enum):
    """States of the disk thread."""

    IDLE = auto()
    WRITING = auto()
    FULL = auto()
    """The next segment could not be created, or no file opened for want of a descriptor. The batch
    is kept, and tried again at a kick."""
    FAILED = auto()
    CLOSED = auto()


TRANSITIONS: dict[DiskState, tuple[DiskState, ...]] = {
    DiskState.IDLE: (DiskState.WRITING, DiskState.CLOSED),
    DiskState.WRITING: (DiskState.IDLE, DiskState.FULL, DiskState.FAILED),
    DiskState.FULL: (DiskState.WRITING, DiskState.CLOSED),
    DiskState.FAILED: (DiskState.CLOSED,),
    DiskState.CLOSED: (),
}


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


class _Outcome(NamedTuple):
    """Outcome of one batch. ``unperformed`` begins with the operation that raised ``error``.
    ``spare_missing``: there was no room for a spare segment, which is no error."""

    unperformed: list[Operation]
    error: OSError | MemoryError | None
    spare_missing: bool


class DiskThread:
    """Owns the thread, and ``disk`` from now on. All methods, and all callbacks, are for the event
    loop's thread; ``call_soon_threadsafe`` is how the disk thread gets there, and ``call_later``
    calls after so many seconds. A callback may come while :meth:`kick` is called.

    ``on_synced(position)``: records below it are on disk, promises may be kept.
    ``on_full()``: the disk has no room for another segment. What was logged stays pending, and
    is tried again at each :meth:`kick`; called once per time that the disk becomes full.
    ``on_spare(missing)``: the segment after the next was to be made; ``missing``: there is no room
    for it. (A batch that needs it now, and doesn't get it, is what ``on_full`` is about.)
    ``on_failed(error)``: a write or sync failed. Nothing is reported synced after it, nothing is
    tried again: nack what was not confirmed, and exit with a failure. Called once.

    An operation for which there is no file descriptor is tried again until there is one: a disk has
    not failed for that, and whoever waits for the batch waits on.
    """

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
        on_spare: Callable[[bool], None],
    ) -> None:
        self.state = DiskState.IDLE
        self.batches = 0
        """Batches that were performed."""
        self._log = log
        self._disk = disk
        self._call_soon_threadsafe = call_soon_threadsafe
        self._call_later = call_later
        self._loop_syncs = loop_syncs
        self._sync_scheduled = False
        self._on_synced = on_synced
        self._on_failed = on_failed
        self._on_full = on_full
        self._on_spare = on_spare
        self._began_s = 0.0
        self._aside_at_s = 0.0
        """The next time that the loop may stand aside."""
        self._written = Event()
        """Set when the batch on its way is written, and has to be synced at most."""
        self._full_reported = False
        self._shortage_reported = False
        self._closing = Event()
        self._batch: Batch | None = None
        self._unperformed: list[Operation] = []
        self._work: SimpleQueue[list[Operation] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[_Outcome] = SimpleQueue()
        self._thread = Thread(target=self._run, name="disk", daemon=True)
        self._thread.start()

    def kick(self) -> None:
        """Have pending records written, unless a batch is on its way (then they follow it). Cheap,
        and harmless in every state."""
        if self.state is DiskState.IDLE:
            self._batch = batch = self._log.take_batch()
            if batch is None:
                return
            if self._loop_syncs.may_take(batch):
                self._perform_here(batch)
            else:
                self._perform(list(batch.operations))
        elif self.state is DiskState.FULL:
            self._perform(self._unperformed)
        elif self.state is DiskState.WRITING and self._loop_syncs.clock() >= self._aside_at_s:
            self._stand_aside()

    def close(self, *, clean: bool = True) -> None:
        """Write and sync what is pending and, if the stop is ``clean``, the mark of that; end the
        thread, and close the disk. Blocks; the callbacks are called meanwhile. Idempotent. After a
        failure, or on a full disk, nothing more is written, and the next start is an unclean
        one."""
        if self.state is DiskState.CLOSED:
            return
        self._closing.set()
        self._drain()
        self.kick()
        self._drain()
        if self.state is DiskState.IDLE and clean:
            self._log.close()
            self.kick()
            self._drain()
        self._change(DiskState.CLOSED)
        self._work.put(None)
        self._thread.join()
        self._disk.close()

    def _change(self, state: DiskState) -> None:
        if state not in TRANSITIONS[self.state]:
            raise AssertionError(f"disk thread: {self.state.name} -> {state.name}")
        self.state = state

    def _perform(self, operations: list[Operation]) -> None:
        self._change(DiskState.WRITING)
        self._began_s = self._loop_syncs.clock()
        self._aside_at_s = self._began_s + LATE_S
        self._written.clear()
        self._work.put(operations)

    def _stand_aside(self) -> None:
        """Let the thread have the interpreter, and settle the batch if that was all it wanted."""
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

    def _perform_here(self, batch: Batch) -> None:
        self._change(DiskState.WRITING)
        began = self._loop_syncs.clock()
        outcome = self._attempt(batch.operations)
        self._loop_syncs.took(began)
        self._settle(outcome)

    def _sync_acks_later(self) -> None:
        if self._log.sync_is_due and not self._sync_scheduled:
            self._sync_scheduled = True
            self._call_later(ACKS_UNSYNCED_S, self._sync_acks)

    def _sync_acks(self) -> None:
        self._sync_scheduled = False
        if self.state in (DiskState.IDLE, DiskState.WRITING):
            self._log.sync_soon()
            self.kick()

    def _drain(self) -> None:
        """Wait until no batch is on its way. (A settled batch may have started the next one.)"""
        while self.state is DiskState.WRITING:
            self._settle(self._outcomes.get())

    def _collect(self) -> None:
        """Take the outcomes that there are: called on the loop for each, and :meth:`close` may have
        been faster."""
        if self.state is DiskState.WRITING and not self._outcomes.empty():
            self._settle(self._outcomes.get())

    def _settle(self, outcome: _Outcome) -> None:
        batch = self._batch
        assert batch is not None
        error = outcome.error
        batch.spare_missing |= outcome.spare_missing
        if error is None:
            self._change(DiskState.IDLE)
            self._batch = None
            self._full_reported = self._shortage_reported = False
            self.batches += 1
            unsynced = batch.in_place and batch.end == self._log.synced
            self._log.batch_synced(batch)
            if batch.makes_spare:
                self._on_spare(batch.spare_missing)
            self.kick()
            if not unsynced:
                self._on_synced(self._log.synced)
            self._sync_acks_later()
        elif _is_full(error) and isinstance(outcome.unperformed[0], CreateFile):
            self._change(DiskState.FULL)
            self._unperformed = outcome.unperformed
            if not self._full_reported:
                self._full_reported = True
                self._on_full()
        elif _lacks_descriptor(error):
            self._change(DiskState.FULL)
            self._unperformed = outcome.unperformed
            if not self._shortage_reported:
                self._shortage_reported = True
                _log.error("%s: the log waits, and tries again", error)
            if not self._closing.is_set():
                self._perform(self._unperformed)
        else:
            self._change(DiskState.FAILED)
            self._on_failed(DiskFailed(f"{error}: nothing can be promised any more"))

    def _run(self) -> None:
        """The thread. It touches nothing but the disk and the two queues."""
        while (operations := self._work.get()) is not None:
            outcome = self._attempt(operations)
            if outcome.error is not None and _lacks_descriptor(outcome.error):
                self._closing.wait(DESCRIPTOR_RETRY_S)
            self._outcomes.put(outcome)
            self._written.set()
            try:
                self._call_soon_threadsafe(self._collect)
            except RuntimeError:
                # The loop is closed; DiskThread.close reads the outcome itself.
                continue

    def _attempt(self, operations: Sequence[Operation]) -> _Outcome:
        spare_missing = False
        for index, operation in enumerate(operations):
            if isinstance(operation, Sync):
                self._written.set()
            try:
                self._disk.perform(operation)
            except (OSError, MemoryError) as error:
                if not (_is_full(error) and isinstance(operation, CreateSpare)):
                    return _Outcome(list(operations[index:]), error, spare_missing)
                spare_missing = True
        return _Outcome([], None, spare_missing)


def _is_full(error: OSError | MemoryError) -> bool:
    return isinstance(error, OSError) and error.errno in DISK_FULL


def _lacks_descriptor(error: OSError | MemoryError) -> bool:
    return isinstance(error, OSError) and error.errno in _NO_DESCRIPTOR
