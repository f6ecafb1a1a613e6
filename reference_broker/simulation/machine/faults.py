"""Faults of a run: power losses, kills, disk errors, cut links and the like, at random times."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from enum import Enum
from random import Random

from reference_broker.simulation.disk import autopsy
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import BitRot
from reference_broker.simulation.machine.machine import Machine

STALL_US = (10_000, 2_000_000)
DISK_FULL_US = (100_000, 3_000_000)
UNREADABLE_US = (2_000_000, 15_000_000)
_FAILS_WITHIN_OPERATIONS = 20


class Fault(Enum):
    POWER_LOSS = "power loss"
    KILL = "kill"
    CLEAN_STOP = "clean stop"
    DISK_ERROR = "disk error"
    DISK_REFUSAL = "write without space"
    DISK_FULL = "full disk"
    LINK_CUT = "cut connection"
    LINK_STALL = "stalled connection"
    BIT_ROT = "flipped bit"
    READ_ERROR = "unreadable file"


_WEIGHTS = {
    Fault.POWER_LOSS: 5,
    Fault.KILL: 2,
    Fault.CLEAN_STOP: 1,
    Fault.DISK_ERROR: 1,
    Fault.DISK_REFUSAL: 1,
    Fault.DISK_FULL: 1,
    Fault.LINK_CUT: 5,
    Fault.LINK_STALL: 5,
}


class FaultInjector:
    """Strikes again and again, until :meth:`stop`. ``counts`` are by kind of fault.

    Something is damaged once at most, and only if ``damaged`` is there to be told: then at the
    first strike that finds a sealed file, after a few that did something else. It is a flipped bit;
    or, where it ``reads_again``, a file that can't be read for a while, or until the next start.
    """

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        machine: Machine,
        pause_us: tuple[int, int],
        damaged: Callable[[BitRot], None] | None = None,
        *,
        reads_again: bool = False,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._random = random
        self._machine = machine
        self._pause_us = pause_us
        self._damaged = damaged
        self._reads_again = reads_again
        self._strikes_before_rot = random.randint(0, 10)
        self._stopped = False
        self._acts: dict[Fault, Callable[[], object]] = {
            Fault.POWER_LOSS: machine.lose_power,
            Fault.KILL: machine.kill,
            Fault.CLEAN_STOP: machine.stop,
            Fault.DISK_ERROR: lambda: self._fail_operation(errno.EIO),
            Fault.DISK_REFUSAL: lambda: self._fail_operation(errno.ENOSPC),
            Fault.DISK_FULL: self._disk_full,
            Fault.LINK_CUT: self._cut,
            Fault.LINK_STALL: self._stall,
        }

    def begin(self) -> None:
        """Strike after a pause, and go on."""
        self._clock.after(self._random.randint(*self._pause_us), self._strike)

    def stop(self) -> None:
        """Strike no more; a full disk has room again, and every file can be read."""
        self._stopped = True
        self._room()
        self._readable()

    def _strike(self) -> None:
        if self._stopped:
            return
        self._strikes_before_rot -= 1
        files = autopsy.sealed_files(self._machine.disk)
        if self._damaged is not None and files and self._strikes_before_rot < 0:
            kind = Fault.READ_ERROR if self._reads_again else Fault.BIT_ROT
            self.counts[kind.value] += 1
            damage = self._fail_reads if self._reads_again else self._flip
            self._damaged(damage(files))
            self._damaged = None
        else:
            kind = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
            self.counts[kind.value] += 1
            self._acts[kind]()
        self.begin()

    def _fail_operation(self, error: int) -> None:
        self._machine.disk.fail_at(self._random.randint(1, _FAILS_WITHIN_OPERATIONS), error)

    def _disk_full(self) -> None:
        self._machine.disk.full = True
        self._clock.after(self._random.randint(*DISK_FULL_US), self._room)

    def _room(self) -> None:
        self._machine.disk.full = False

    def _fail_reads(self, files: list[str]) -> BitRot:
        """Have any of ``files`` be unreadable for a while."""
        disk = self._machine.disk
        disk.unreadable = file = self._random.choice(files)
        self._clock.after(self._random.randint(*UNREADABLE_US), self._readable)
        numbers = autopsy.numbers_in(disk, file)
        return BitRot(file, numbers, speaks=False, defines=False, stamp=self._clock.stamp())

    def _readable(self) -> None:
        self._machine.disk.unreadable = ""

    def _flip(self, files: list[str]) -> BitRot:
        """Flip any bit that was written, of any of ``files``."""
        disk = self._machine.disk
        file = self._random.choice(files)
        written_bytes = len(disk.read(file).rstrip(b"\0"))
        bit = self._random.randrange(8 * written_bytes)
        record = autopsy.record_at(disk, file, bit // 8)
        disk.flip(file, bit)
        return BitRot(file, record.numbers, record.speaks, record.defines, self._clock.stamp())

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
