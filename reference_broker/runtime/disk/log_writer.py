"""The log's batches, one at a time: which is performed where, and what its outcome means. Without a
thread, and without a clock: :class:`reference_broker.runtime.disk.disk.DiskThread` performs them on
a thread, and the simulator in virtual time.
"""

from __future__ import annotations

import errno
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from reference_broker.errors import DiskFailed
from reference_broker.store import Batch, Disk, Log, Operation
from reference_broker.store.disk.ports import DISK_FULL, CreateFile, CreateSpare, Sync
from reference_broker.store.log.log import ACKS_UNSYNCED_S

_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
"""Errors of a process, or a system, that has too many open files. They come from opening, so
nothing of the operation was done."""

_log = logging.getLogger(__name__)


class DiskState(Enum):
    """States of what writes the log."""

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


class Outcome(NamedTuple):
    """Outcome of one batch. ``unperformed`` begins with the operation that raised ``error``.
    ``spare_missing``: there was no room for a spare segment, which is no error."""

    unperformed: list[Operation]
    error: OSError | MemoryError | None
    spare_missing: bool

    @property
    def lacks_descriptor(self) -> bool:
        """There was no descriptor for a file: it is worth trying again in a while."""
        return isinstance(self.error, OSError) and self.error.errno in _NO_DESCRIPTOR


def attempt(
    disk: Disk, operations: Sequence[Operation], syncing: Callable[[], None] = lambda: None
) -> Outcome:
    """Perform ``operations`` up to the first that fails; ``syncing`` is called before each sync of
    a file."""
    spare_missing = False
    for index, operation in enumerate(operations):
        if isinstance(operation, Sync):
            syncing()
        try:
            disk.perform(operation)
        except (OSError, MemoryError) as error:
            if not (_is_full(error) and isinstance(operation, CreateSpare)):
                return Outcome(list(operations[index:]), error, spare_missing)
            spare_missing = True
    return Outcome([], None, spare_missing)


class LoopChoice(Protocol):
    """The choice of the loop for a batch
    (:class:`~reference_broker.runtime.disk.loop_syncs.LoopSyncs`)."""

    def clock(self) -> float:
        """Seconds that go on within a turn."""

    def may_take(self, batch: Batch) -> bool:
        """The loop may perform this batch by itself."""

    def took(self, began: float) -> None:
        """It has, from ``began`` until now."""


class LogWriter(ABC):
    """Takes batches from ``log`` at each :meth:`kick`, has them performed on ``disk``, and settles
    them. All methods, and all callbacks, are for the event loop; ``call_later`` calls after so many
    seconds. A callback may come while :meth:`kick` is called.

    ``on_synced(position)``: records below it are on disk, promises may be kept.
    ``on_full()``: the disk has no room for another segment. What was logged stays pending, and
    is tried again at each :meth:`kick`; called once per time that the disk becomes full.
    ``on_spare()``: the segment after the next was to be made, or to be made larger;
    :attr:`Log.spare_missing <reference_broker.store.log.log.Log.spare_missing>` says whether one is
    still wanted for which there is no room. (A batch that needs it now, and doesn't get it, is what
    ``on_full`` is about.)
    ``on_failed(error)``: a write or sync failed. Nothing is reported synced after it, nothing is
    tried again: nack what was not confirmed, and exit with a failure. Called once.

    An operation for which there is no file descriptor is tried again until there is one: a disk has
    not failed for that, and whoever waits for the batch waits on.

    Whoever performs the batches makes a subclass.
    """

    def __init__(
        self,
        log: Log,
        disk: Disk,
        call_later: Callable[[float, Callable[[], None]], object],
        loop_syncs: LoopChoice,
        on_synced: Callable[[int], None],
        on_failed: Callable[[DiskFailed], None],
        on_full: Callable[[], None],
        on_spare: Callable[[], None],
    ) -> None:
        self.state = DiskState.IDLE
        self.batches = 0
        """Batches that were performed."""
        self._log = log
        self._disk = disk
        self._call_later = call_later
        self._loop_syncs = loop_syncs
        self._sync_scheduled = False
        self._on_synced = on_synced
        self._on_failed = on_failed
        self._on_full = on_full
        self._on_spare = on_spare
        self._full_reported = False
        self._shortage_reported = False
        self._ending = False
        self._batch: Batch | None = None
        self._unperformed: list[Operation] = []

    def kick(self) -> None:
        """Have pending records written, unless a batch is on its way (then they follow it). Cheap,
        and harmless in every state."""
        if self.state is DiskState.IDLE:
            self._batch = batch = self._log.take_batch()
            if batch is None:
                return
            if self._loop_syncs.may_take(batch):
                self._change(DiskState.WRITING)
                began = self._loop_syncs.clock()
                outcome = self._perform_here(batch.operations)
                self._loop_syncs.took(began)
                self._settle(outcome)
            else:
                self._hand_over(list(batch.operations))
        elif self.state is DiskState.FULL:
            self._hand_over(self._unperformed)
        elif self.state is DiskState.WRITING:
            self._kicked_again()

    def end(self, *, clean: bool) -> bool:
        """Write and sync what is pending and, if the stop is ``clean``, the mark of that; nothing
        is written afterwards. Blocks; the callbacks are called meanwhile. Returns true if the mark
        is on the disk. After a failure, or on a full disk, nothing more is written, and the next
        start is an unclean one."""
        self._ending = True
        self._drain()
        self.kick()
        self._drain()
        if self.state is DiskState.IDLE and clean:
            self._log.close()
            self.kick()
            self._drain()
        marked = self.state is DiskState.IDLE and clean
        self._change(DiskState.CLOSED)
        return marked

    # The performer's

    @abstractmethod
    def _begin(self, operations: list[Operation]) -> None:
        """Begin to perform them, and have :meth:`_settle` called with the outcome: of one that
        lacks a descriptor a while later, unless the log ends."""

    @abstractmethod
    def _perform_here(self, operations: Sequence[Operation]) -> Outcome:
        """Perform them now, on the loop."""

    @abstractmethod
    def _wait(self) -> Outcome:
        """Wait for the end of what was begun. :meth:`_settle` is not called for it any more."""

    @abstractmethod
    def _kicked_again(self) -> None:
        """There may be more, while a batch is on its way."""

    def _settle(self, outcome: Outcome) -> None:
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
                self._on_spare()
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
        elif outcome.lacks_descriptor:
            self._change(DiskState.FULL)
            self._unperformed = outcome.unperformed
            if not self._shortage_reported:
                self._shortage_reported = True
                _log.error("%s: the log waits, and tries again", error)
            if not self._ending:
                self._hand_over(self._unperformed)
        else:
            self._change(DiskState.FAILED)
            self._on_failed(DiskFailed(f"{error}: nothing can be promised any more"))

    def _hand_over(self, operations: list[Operation]) -> None:
        self._change(DiskState.WRITING)
        self._begin(operations)

    def _change(self, state: DiskState) -> None:
        if state not in TRANSITIONS[self.state]:
            raise AssertionError(f"log writer: {self.state.name} -> {state.name}")
        self.state = state

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
            self._settle(self._wait())


def _is_full(error: OSError | MemoryError) -> bool:
    return isinstance(error, OSError) and error.errno in DISK_FULL
