"""Faults of a run: power losses, kills, disk errors, cut links and the like, at random times."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from random import Random

from reference_broker.simulation.disk import autopsy
from reference_broker.simulation.disk.disk import Crash
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
_FAILS_WITHIN_OPERATIONS = 20


class FaultInjector:
    """Strikes again and again, until :meth:`stop`, as its ``profile`` has it. ``counts`` are by
    kind of fault.

    A bit is flipped once at most, and only if ``bit_flipped`` is there to be told: then at the
    first strike that finds a sealed file, after a few that did something else.
    """

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        machine: Machine,
        pause_us: tuple[int, int],
        bit_flipped: Callable[[BitRot], None] | None = None,
        profile: FaultProfile = MIXED,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._random = random
        self._machine = machine
        self._pause_us = pause_us
        self._profile = profile
        self._bit_flipped = bit_flipped
        self._strikes_before_rot = random.randint(0, 10)
        self._stopped = False
        how = Crash.SUBSET if profile.half_written else None
        self._acts: dict[Fault, Callable[[], object]] = {
            Fault.POWER_LOSS: lambda: machine.lose_power(how),
            Fault.KILL: machine.kill,
            Fault.CLEAN_STOP: machine.stop,
            Fault.DISK_ERROR: lambda: self._fail_operation(errno.EIO),
            Fault.DISK_REFUSAL: lambda: self._fail_operation(errno.ENOSPC),
            Fault.DISK_FULL: self._disk_full,
            Fault.COPY_ERROR: machine.disk.fail_next_copy,
            Fault.LINK_CUT: self._cut,
            Fault.LINK_STALL: self._stall,
        }

    def begin(self) -> None:
        """Strike after a pause, and go on."""
        self._machine.disk.slow_sync_chance = self._profile.slow_sync_chance
        self._strike_later()

    def stop(self) -> None:
        """Strike no more: a full disk has room again, and syncs are as quick as usual."""
        self._stopped = True
        self._machine.disk.slow_sync_chance = SLOW_SYNC_CHANCE
        self._room()

    def _strike_later(self) -> None:
        self._clock.after(self._random.randint(*self._pause_us), self._strike)

    def _strike(self) -> None:
        if self._stopped:
            return
        self._strikes_before_rot -= 1
        files = autopsy.sealed_files(self._machine.disk)
        if self._bit_flipped is not None and files and self._strikes_before_rot < 0:
            self.counts[Fault.BIT_ROT.value] += 1
            self._flip(files, self._bit_flipped)
        else:
            weights = self._profile.weights
            kind = self._random.choices(list(weights), list(weights.values()))[0]
            self.counts[kind.value] += 1
            self._acts[kind]()
        self._strike_later()

    def _fail_operation(self, error: int) -> None:
        self._machine.disk.fail_at(self._random.randint(1, _FAILS_WITHIN_OPERATIONS), error)

    def _disk_full(self) -> None:
        self._machine.disk.full = True
        self._clock.after(self._random.randint(*DISK_FULL_US), self._room)

    def _room(self) -> None:
        self._machine.disk.full = False

    def _flip(self, files: list[str], bit_flipped: Callable[[BitRot], None]) -> None:
        """Flip any bit that was written, of any of ``files``."""
        self._bit_flipped = None
        disk = self._machine.disk
        file = self._random.choice(files)
        written_bytes = len(disk.read(file).rstrip(b"\0"))
        bit = self._random.randrange(8 * written_bytes)
        record = autopsy.record_at(disk, file, bit // 8)
        disk.flip(file, bit)
        bit_flipped(
            BitRot(file, record.numbers, record.speaks, record.defines, self._clock.stamp())
        )

    def _cut(self) -> None:
        if self._machine.links:
            link = self._random.choice(self._machine.links)
            self._machine.links.remove(link)
            link.cut()

    def _stall(self) -> None:
        if self._machine.links:
            link = self._random.choice(self._machine.links)
            stream = self._random.choice((link.to_broker, link.to_client))
            stream.stall(self._random.randint(*STALL_US))
