"""Performs the log's batches in virtual time, one operation at a time: a crash may come between any
two. It does what :class:`reference_broker.runtime.disk.disk.DiskThread` does with a thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Protocol

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.store import Batch, Disk, Log, Operation
from reference_broker.store.disk.ports import (
    DISK_FULL,
    CreateFile,
    CreateSpare,
    Sync,
    SyncDirectory,
)
from reference_broker.store.log.log import ACKS_UNSYNCED_S

OPERATION_US = (10, 200)
SYNC_US = (200, 8_000)
SLOW_SYNC_US = (20_000, 400_000)
AT_ONCE_CHANCE = 0.3
"""Of a batch that the broker's loop may perform by itself, without another input in between."""

ACKS_UNSYNCED_US = int(ACKS_UNSYNCED_S * 1_000_000)

DRAIN_MAX = 10_000
"""Operations of a clean stop: a log that always has one more never comes to rest."""


class DiskEvents(Protocol):
    """The process, as its disk sees it."""

    def synced(self, position: int) -> None:
        """Everything below ``position`` is on disk."""

    def spare_made(self, *, missing: bool) -> None:
        """The segment after the next was to be made; ``missing``: there was no room for it."""

    def disk_full(self) -> None:
        """The log can't grow; a later ``synced`` says that it can again."""

    def disk_failed(self) -> None:
        """A write or sync failed; nothing more will be performed."""


class DiskPump:
    """One batch is on its way at a time; :meth:`kick` begins the next."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        log: Log,
        disk: Disk,
        events: DiskEvents,
        at_once_chance: float = AT_ONCE_CHANCE,
        slow_sync_chance: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._clock = clock
        self._random = random
        self._log = log
        self._disk = disk
        self._events = events
        self._at_once_chance = at_once_chance
        self._slow_sync_chance = slow_sync_chance
        self._batch: Batch | None = None
        self._todo: deque[Operation] = deque()
        self._full = False
        self._stopped = False
        self._ticket = 0
        self._sync_scheduled = False

    def kick(self) -> None:
        """Begin the next batch, if there is one. Cheap."""
        if self._stopped:
            return
        if self._full:
            self._full = False
            self._schedule()
        elif self._batch is None:
            self._batch = self._log.take_batch()
            if self._batch is not None:
                self._todo.extend(self._batch.operations)
                if self._batch.in_place and self._random.random() < self._at_once_chance:
                    self._run_batch(self._batch)
                else:
                    self._schedule()

    def stop(self) -> None:
        """Perform nothing any more: the process is gone."""
        self._stopped = True

    def drain(self, *, clean: bool = True) -> bool:
        """Perform everything now, and the mark of a clean stop unless the stop is not ``clean``.
        Returns true if the stop is one."""
        if not self._full:
            self._run_all()
            self.kick()
            self._run_all()
        if self._stopped or self._full or not clean:
            return False
        self._log.close()
        self.kick()
        self._run_all()
        return not (self._stopped or self._full)

    def _run_batch(self, batch: Batch) -> None:
        """Perform all of it now."""
        while self._batch is batch and not (self._full or self._stopped):
            self._perform_next()

    def _run_all(self) -> None:
        for _ in range(DRAIN_MAX):
            if self._batch is None or self._full or self._stopped:
                return
            self._perform_next()
        raise AssertionError(f"a clean stop has taken {DRAIN_MAX} operations of the disk")

    def _schedule(self) -> None:
        span = OPERATION_US
        if isinstance(self._todo[0], Sync | SyncDirectory):
            slow = self._random.random() < self._slow_sync_chance()
            span = SLOW_SYNC_US if slow else SYNC_US
        self._ticket += 1
        ticket = self._ticket
        self._clock.after(self._random.randint(*span), lambda: self._step(ticket))

    def _step(self, ticket: int) -> None:
        if ticket == self._ticket and not self._stopped:
            self._perform_next()

    def _perform_next(self) -> None:
        self._ticket += 1  # What was scheduled is void: a clean stop doesn't wait for it.
        operation = self._todo[0]
        try:
            self._disk.perform(operation)
        except OSError as error:
            if not self._may_fail(operation, error):
                return
        self._todo.popleft()
        if self._todo:
            self._schedule()
        else:
            self._complete()

    def _may_fail(self, operation: Operation, error: OSError) -> bool:
        """True if the batch goes on without the operation that failed."""
        full = error.errno in DISK_FULL
        if full and isinstance(operation, CreateSpare):
            assert self._batch is not None
            self._batch.spare_missing = True
            return True
        if full and isinstance(operation, CreateFile):
            self._full = True
            self._events.disk_full()
        else:
            self._stopped = True
            self._events.disk_failed()
        return False

    def _complete(self) -> None:
        batch, self._batch = self._batch, None
        assert batch is not None
        unsynced = batch.in_place and batch.end == self._log.synced
        self._log.batch_synced(batch)
        if batch.makes_spare:
            self._events.spare_made(missing=batch.spare_missing)
        self.kick()
        if not unsynced:
            self._events.synced(self._log.synced)
        if self._log.sync_is_due and not self._sync_scheduled:
            self._sync_scheduled = True
            self._clock.after(ACKS_UNSYNCED_US, self._sync_acks)

    def _sync_acks(self) -> None:
        self._sync_scheduled = False
        if not (self._stopped or self._full):
            self._log.sync_soon()
            self.kick()
