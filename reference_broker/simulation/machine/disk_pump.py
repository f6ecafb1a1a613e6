"""Performs the log's batches in virtual time, one operation at a time: a crash may come between any
two. All that is decided is the runtime's own
(:mod:`reference_broker.runtime.disk.log_writer`); this stands for its thread, and for its loop.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol

from reference_broker.runtime.disk.disk import DESCRIPTOR_RETRY_S
from reference_broker.runtime.disk.log_writer import (
    DiskState,
    LogWriter,
    LoopChoice,
    Outcome,
    attempt,
)
from reference_broker.runtime.disk.loop_syncs import LoopSyncs
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.plan.plans import Syncing
from reference_broker.store import Batch, Disk, Log, Operation
from reference_broker.store.disk.ports import Sync, SyncDirectory
from reference_broker.store.log.log import ACKS_UNSYNCED_S

OPERATION_US = (10, 200)
SYNC_US = (200, 8_000)
QUICK_SYNC_US = (100, 2_000)
SLOW_SYNC_US = (20_000, 400_000)
AT_ONCE_CHANCE = 0.3
"""Of a batch that the broker's loop may perform by itself, without another input in between."""

ACKS_UNSYNCED_US = int(ACKS_UNSYNCED_S * 1_000_000)

DRAIN_MAX = 10_000
"""Operations of a clean stop: a log that always has one more never comes to rest."""

_US_PER_S = 1_000_000


class DiskEvents(Protocol):
    """The process, as its disk sees it."""

    def synced(self, position: int) -> None:
        """Everything below ``position`` is on disk."""

    def spare_made(self) -> None:
        """The segment after the next was to be made, or to be made larger."""

    def disk_full(self) -> None:
        """The log can't grow; a later ``synced`` says that it can again."""

    def disk_failed(self) -> None:
        """A write or sync failed; nothing more will be performed."""


class ByChance:
    """The choice of the loop for a batch, however long the last ones took."""

    def __init__(self, random: Random, chance: float = AT_ONCE_CHANCE) -> None:
        self._random = random
        self._chance = chance

    def clock(self) -> float:
        return 0.0

    def may_take(self, batch: Batch) -> bool:
        return batch.in_place and self._random.random() < self._chance

    def took(self, began: float) -> None:
        """It makes no difference."""


class LoopTime:
    """The clock of a loop that may wait for the disk: it goes on meanwhile, the others don't."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.waited_us = 0
        self._clock = clock

    def seconds(self) -> float:
        return (self._clock.now_us + self.waited_us) / _US_PER_S


def choice_of(syncing: Syncing, random: Random, time: LoopTime) -> LoopChoice:
    """The choice of the loop for a batch that a plan wants."""
    if syncing is Syncing.MEASURED:
        return LoopSyncs(time.seconds)
    return ByChance(random, AT_ONCE_CHANCE if syncing is Syncing.BY_CHANCE else 0.0)


class DiskPump(LogWriter):
    """One batch is on its way at a time; :meth:`kick` begins the next. ``counts`` are of batches,
    by who performed them, and of late syncs."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        log: Log,
        disk: Disk,
        events: DiskEvents,
        syncing: Syncing = Syncing.BY_CHANCE,
        slow_sync_chance: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._time = LoopTime(clock)
        super().__init__(
            log,
            disk,
            lambda seconds, callback: self._later(int(seconds * _US_PER_S), callback),
            choice_of(syncing, random, self._time),
            on_synced=events.synced,
            on_failed=lambda error: events.disk_failed(),
            on_full=events.disk_full,
            on_spare=events.spare_made,
        )
        self._clock = clock
        self._random = random
        self._sync_us = QUICK_SYNC_US if syncing is Syncing.MEASURED else SYNC_US
        self._slow_sync_chance = slow_sync_chance
        self.counts: Counter[str] = Counter()
        self._todo: deque[Operation] = deque()
        self._spare_missing = False
        self._ended: Outcome | None = None
        """The outcome of what was begun, of which the log hears later."""
        self._stopped = False
        self._takes_us = 0
        """Microseconds that the next operation takes."""
        self._ticket = 0
        self._drained = 0

    def kick(self) -> None:
        if not self._stopped:
            super().kick()

    def stop(self) -> None:
        """Perform nothing any more: the process is gone."""
        self._stopped = True

    def _sync_acks(self) -> None:
        self.counts["late syncs of acks"] += 1
        super()._sync_acks()

    # In place of the thread, and of the loop

    def _begin(self, operations: list[Operation]) -> None:
        self.counts["batches of the thread"] += 1
        self._take(operations)
        self._schedule()

    def _perform_here(self, operations: Sequence[Operation]) -> Outcome:
        self.counts["batches of the loop"] += 1
        self._take(operations)
        return self._run_all()

    def _wait(self) -> Outcome:
        return self._ended or self._run_all()

    def _kicked_again(self) -> None:
        """Nobody waits for the interpreter here."""

    def _take(self, operations: Sequence[Operation]) -> None:
        self._todo = deque(operations)
        self._spare_missing = False
        self._ended = None

    def _run_all(self) -> Outcome:
        while (outcome := self._perform_next()) is None:
            self._time.waited_us += self._takes_us
            self._drained += self._ending
            if self._drained > DRAIN_MAX:
                raise AssertionError(f"a clean stop has taken {DRAIN_MAX} operations of the disk")
        return outcome

    def _schedule(self) -> None:
        span = OPERATION_US
        if isinstance(self._todo[0], Sync | SyncDirectory):
            slow = self._random.random() < self._slow_sync_chance()
            span = SLOW_SYNC_US if slow else self._sync_us
        self._ticket += 1
        ticket = self._ticket
        self._takes_us = self._random.randint(*span)
        self._later(self._takes_us, lambda: self._step(ticket))

    def _step(self, ticket: int) -> None:
        if ticket != self._ticket:
            return
        outcome = self._perform_next()
        if outcome is None:
            return
        if outcome.lacks_descriptor:
            self._ended = outcome
            ticket = self._ticket
            self._later(int(DESCRIPTOR_RETRY_S * _US_PER_S), lambda: self._give_up(ticket))
        else:
            self._settle(outcome)

    def _give_up(self, ticket: int) -> None:
        if ticket == self._ticket and self._ended is not None and self.state is DiskState.WRITING:
            self._settle(self._ended)

    def _perform_next(self) -> Outcome | None:
        """The outcome of them all, when there is one."""
        self._ticket += 1  # What was scheduled is void: a clean stop doesn't wait for it.
        done = attempt(self._disk, [self._todo[0]])
        self._spare_missing |= done.spare_missing
        if done.error is None:
            self._todo.popleft()
            if self._todo:
                self._schedule()
                return None
        return Outcome(list(self._todo), done.error, self._spare_missing)

    def _later(self, delay_us: int, callback: Callable[[], None]) -> None:
        def unless_stopped() -> None:
            if not self._stopped:
                callback()

        self._clock.after(delay_us, unless_stopped)
