"""Faults of a run: power losses, kills, disk errors, cut links and the like, at random times."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from random import Random
from typing import NamedTuple

from reference_broker.simulation.disk import autopsy
from reference_broker.simulation.disk.medium import Crash
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import BitRot
from reference_broker.simulation.machine.machine import Machine
from reference_broker.simulation.plan.fault_profile import (
    MIXED,
    SLOW_SYNC_CHANCE,
    Fault,
    FaultProfile,
)

STALL_US = (10_000, 2_000_000)
DISK_FULL_US = (100_000, 3_000_000)
NO_DESCRIPTORS_US = (50_000, 2_000_000)
UNREADABLE_US = (2_000_000, 15_000_000)
CLOCK_WRONG_MS = (-3_000, 3_000)
"""Milliseconds by which a clock that is set is wrong: with a TTL of 8 s before a step, a message is
there for 14 s, which a calm has time for."""
SET_CLOCK_CHANCE = 0.35
_FAILS_WITHIN_OPERATIONS = 20


Act = Callable[[], object]
"""Does what was drawn for a strike."""


class Strike(NamedTuple):
    """A fault that struck: its number, from 1 on, and the virtual time."""

    number: int
    us: int
    fault: Fault


class FaultInjector:
    """Strikes again and again, until :meth:`stop`, as its ``profile`` has it. ``counts`` are by
    kind of fault.

    Where ``only`` has the numbers of some strikes, the others do nothing. What they would have done
    is drawn all the same, so that those that are left stay as they are.

    Something is damaged once at most, and only if ``damaged`` is there to be told: then at the
    first strike that finds a sealed file, after a few that did something else. It is a flipped bit;
    or, where it ``reads_again``, a file that can't be read for a while, or until the next start.
    Where it ``sets_clock``, a third of the strikes set the clock of the broker's machine.
    """

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        machine: Machine,
        pause_us: tuple[int, int],
        damaged: Callable[[BitRot], None] | None = None,
        profile: FaultProfile = MIXED,
        only: Collection[int] | None = None,
        *,
        reads_again: bool = False,
        sets_clock: bool = False,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.struck: list[Strike] = []
        self._only = only
        self._drawn = 0
        self._clock = clock
        self._random = random
        self._machine = machine
        self._pause_us = pause_us
        self._profile = profile
        self._damaged = damaged
        self._reads_again = reads_again
        self._sets_clock = sets_clock
        self._strikes_before_rot = random.randint(0, 10)
        self._stopped = False
        lose_power = partial(machine.lose_power, Crash.SUBSET if profile.half_written else None)
        self._draws: dict[Fault, Callable[[], Act]] = {
            Fault.POWER_LOSS: lambda: lose_power,
            Fault.KILL: lambda: machine.kill,
            Fault.CLEAN_STOP: lambda: machine.stop,
            Fault.DISK_ERROR: lambda: self._fail_operation(errno.EIO),
            Fault.DISK_REFUSAL: lambda: self._fail_operation(errno.ENOSPC),
            Fault.DISK_FULL: lambda: self._for_a_while(DISK_FULL_US, self._full, self._room),
            Fault.COPY_ERROR: lambda: machine.disk.fail_next_copy,
            Fault.NO_DESCRIPTORS: lambda: self._for_a_while(
                NO_DESCRIPTORS_US, self._no_descriptors, self._descriptors
            ),
            Fault.CLOSE_ERROR: lambda: self._fail_close,
            Fault.LINK_CUT: self._cut,
            Fault.LINK_STALL: self._stall,
        }

    def begin(self) -> None:
        """Strike after a pause, and go on."""
        self._machine.disk.slow_sync_chance = self._profile.slow_sync_chance
        self._strike_later()

    def stop(self) -> None:
        """Strike no more: a full disk has room again, every file can be opened and read, and syncs
        and copies are as quick as usual."""
        self._stopped = True
        self._machine.disk.slow_sync_chance = SLOW_SYNC_CHANCE
        self._machine.disk.copies_slowly = False
        self._machine.disk.close_fails = False
        self._room()
        self._readable()
        self._descriptors()

    def _strike_later(self) -> None:
        self._clock.after(self._random.randint(*self._pause_us), self._strike)

    def _strike(self) -> None:
        if self._stopped:
            return
        self._drawn += 1
        self._strikes_before_rot -= 1
        files = autopsy.sealed_files(self._machine.disk)
        if self._damaged is not None and files and self._strikes_before_rot < 0:
            kind = Fault.READ_ERROR if self._reads_again else Fault.BIT_ROT
            damage = self._fail_reads if self._reads_again else self._flip
            act = damage(files, self._damaged)
            self._damaged = None
        elif self._sets_clock and self._random.random() < SET_CLOCK_CHANCE:
            kind, act = Fault.CLOCK_SET, self._set_clock()
        else:
            weights = self._profile.weights
            kind = self._random.choices(list(weights), list(weights.values()))[0]
            act = self._draws[kind]()
        if self._only is None or self._drawn in self._only:
            self.counts[kind.value] += 1
            self.struck.append(Strike(self._drawn, self._clock.now_us, kind))
            act()
        self._strike_later()

    def _fail_operation(self, error: int) -> Act:
        operations = self._random.randint(1, _FAILS_WITHIN_OPERATIONS)
        return lambda: self._machine.disk.fail_at(operations, error)

    def _for_a_while(
        self, span_us: tuple[int, int], begin: Callable[[], None], end: Callable[[], None]
    ) -> Act:
        lasts_us = self._random.randint(*span_us)

        def act() -> None:
            begin()
            self._clock.after(lasts_us, end)

        return act

    def _full(self) -> None:
        self._machine.disk.full = True

    def _room(self) -> None:
        self._machine.disk.full = False

    def _no_descriptors(self) -> None:
        self._machine.disk.no_descriptors = True

    def _descriptors(self) -> None:
        self._machine.disk.no_descriptors = False

    def _fail_close(self) -> None:
        self._machine.disk.close_fails = True

    def _fail_reads(self, files: list[str], damaged: Callable[[BitRot], None]) -> Act:
        """Have any of ``files`` be unreadable for a while."""
        disk = self._machine.disk
        file = self._random.choice(files)
        unreadable_us = self._random.randint(*UNREADABLE_US)

        def act() -> None:
            disk.unreadable = file
            self._clock.after(unreadable_us, self._readable)
            numbers = autopsy.numbers_in(disk, file)
            stamp = self._clock.stamp()
            damaged(BitRot(file, numbers, speaks=False, defines=False, stamp=stamp))

        return act

    def _readable(self) -> None:
        self._machine.disk.unreadable = ""

    def _flip(self, files: list[str], damaged: Callable[[BitRot], None]) -> Act:
        """Flip any bit that was written, of any of ``files``."""
        disk = self._machine.disk
        file = self._random.choice(files)
        written_bytes = len(disk.read(file).rstrip(b"\0"))
        bit = self._random.randrange(8 * written_bytes)

        def act() -> None:
            record = autopsy.record_at(disk, file, bit // 8)
            disk.flip(file, bit)
            stamp = self._clock.stamp()
            damaged(BitRot(file, record.numbers, record.speaks, record.defines, stamp))

        return act

    def _set_clock(self) -> Act:
        return partial(self._clock.set_system, self._random.randint(*CLOCK_WRONG_MS))

    def _cut(self) -> Act:
        if not self._machine.links:
            return _nothing
        link = self._random.choice(self._machine.links)

        def act() -> None:
            self._machine.links.remove(link)
            link.cut()

        return act

    def _stall(self) -> Act:
        if not self._machine.links:
            return _nothing
        link = self._random.choice(self._machine.links)
        stream = self._random.choice((link.to_broker, link.to_client))
        stall_us = self._random.randint(*STALL_US)
        return lambda: stream.stall(stall_us)


def _nothing() -> None:
    """There is no link."""
