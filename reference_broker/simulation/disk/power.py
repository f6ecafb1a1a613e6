"""A disk that may be full, that may not read, and whose power may fail in the middle of a
recovery."""

from __future__ import annotations

import errno
from collections import Counter
from random import Random
from typing import Protocol

from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store.disk.ports import CreateFile, CreateSpare, Disk, Operation, Write
from reference_broker.store.format.segment import COPY_SUFFIX


class PowerCut(Exception):
    """The power failed before an operation; crash the disk, and start again."""


class Folder(Disk, Protocol):
    """The disk as a process of the broker has it."""

    def access(self) -> Disk:
        """The same files for another of its threads."""
        ...


class PoweredDisk(SimulatedDisk):
    """Raises :exc:`PowerCut` in place of the operation that :meth:`cut_power_at` named. While it
    is ``full`` no file can be created or grow; nor can any beyond ``capacity_bytes`` for all files
    together, if that is set. Of its syncs as many are slow as ``slow_sync_chance`` says to whoever
    plays the time that they take."""

    def __init__(self, random: Random | None = None, capacity_bytes: int | None = None) -> None:
        super().__init__(random)
        self.full = False
        self.unreadable = ""
        """The file that can't be read at this moment, if there is one."""
        self.failed_reads = 0
        self.no_descriptors = False
        """No file can be opened; only where a process has the disk through calls of a system."""
        self.close_fails = False
        """The next close of a file that was written fails, and what was not synced of it is lost.
        As above."""
        self.capacity_bytes = capacity_bytes
        self.slow_sync_chance = 0.0
        self.copies_slowly = False
        """True where whoever plays the time of a copy should take much of it."""
        self.counts: Counter[str] = Counter()
        """Counts of calls of the system, where there is one."""
        self._copy_fails = False
        self._power_until: int | None = None

    def open_folder(self) -> Folder:
        """The disk for a process that begins. A process that ended has nothing of it any more."""
        return self

    def process_ended(self) -> None:
        """The process is gone, and what it had open is closed."""

    def access(self) -> Disk:
        return self

    def cut_power_at(self, operation: int) -> None:
        """Have the power fail instead of the ``operation``-th from now (1 is the next)."""
        self._power_until = self.operations + operation

    def keep_power(self) -> None:
        """Forget :meth:`cut_power_at`."""
        self._power_until = None

    def fail_next_copy(self) -> None:
        """Have the next operation on a copy of a segment fail."""
        self._copy_fails = True

    def free_bytes(self) -> int:
        if self.full:
            return 0
        if self.capacity_bytes is not None:
            return max(self.capacity_bytes - self.size_bytes, 0)
        return super().free_bytes()

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        self.need_readable(file)
        return super().read_range(file, offset, size_bytes)

    def perform(self, operation: Operation) -> None:
        self.need_power(getattr(operation, "file", ""))
        self.need_room(self._growth(operation))
        super().perform(operation)

    def need_readable(self, file: str) -> None:
        """Raise what a read of ``file`` has to, at this moment."""
        if file == self.unreadable:
            self.failed_reads += 1
            raise OSError(errno.EIO, "simulated failure of a read", file)

    def need_power(self, file: str) -> None:
        """Raise what an operation on ``file`` has to, at this moment."""
        if self._power_until is not None and self.operations + 1 >= self._power_until:
            self._power_until = None
            raise PowerCut
        if self._copy_fails and file.endswith(COPY_SUFFIX):
            self._copy_fails = False
            raise OSError(errno.EIO, "the simulated disk can't write")

    def need_room(self, more_bytes: int | None) -> None:
        """Raise what an operation has to that takes so much more room; ``None`` takes none, and 0
        is the room of a name."""
        if more_bytes is None:
            return
        over = self.capacity_bytes is not None and (
            self.size_bytes + more_bytes > self.capacity_bytes
        )
        if self.full or over:
            raise OSError(errno.ENOSPC, "the simulated disk is full")

    def _growth(self, operation: Operation) -> int | None:
        if isinstance(operation, CreateFile | CreateSpare):
            more_bytes = operation.size_bytes
            if isinstance(operation, CreateSpare) and operation.file in self.list_files():
                more_bytes -= self.size(operation.file)
            return more_bytes
        if isinstance(operation, Write):
            end = operation.offset + sum(map(len, operation.pieces))
            more_bytes = end - self.size(operation.file)
            return more_bytes if more_bytes > 0 else None
        return None
