"""A disk that may be full, that may not read, and whose power may fail in the middle of a
recovery."""

from __future__ import annotations

import errno
from random import Random

from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store.disk.ports import CreateFile, CreateSpare, Operation, Write
from reference_broker.store.format.segment import COPY_SUFFIX


class PowerCut(Exception):
    """The power failed before an operation; crash the disk, and start again."""


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
        self.capacity_bytes = capacity_bytes
        self.slow_sync_chance = 0.0
        self._copy_fails = False
        self._power_until: int | None = None

    def cut_power_at(self, operation: int) -> None:
        """Have the power fail instead of the ``operation``-th from now (1 is the next)."""
        self._power_until = self.operations + operation

    def keep_power(self) -> None:
        """Forget :meth:`cut_power_at`."""
        self._power_until = None

    def fail_next_copy(self) -> None:
        """Have the next operation on a copy of a segment fail."""
        self._copy_fails = True

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        if file == self.unreadable:
            self.failed_reads += 1
            raise OSError(errno.EIO, "simulated failure of a read", file)
        return super().read_range(file, offset, size_bytes)

    def perform(self, operation: Operation) -> None:
        if self._power_until is not None and self.operations + 1 >= self._power_until:
            self._power_until = None
            raise PowerCut
        if self._copy_fails and getattr(operation, "file", "").endswith(COPY_SUFFIX):
            self._copy_fails = False
            raise OSError(errno.EIO, "the simulated disk can't write")
        if not self._has_room(operation):
            raise OSError(errno.ENOSPC, "the simulated disk is full")
        super().perform(operation)

    def _has_room(self, operation: Operation) -> bool:
        if isinstance(operation, CreateFile | CreateSpare):
            more_bytes = operation.size_bytes
            if isinstance(operation, CreateSpare) and operation.file in self.list_files():
                more_bytes -= self.size(operation.file)
        elif isinstance(operation, Write):
            end = operation.offset + sum(map(len, operation.pieces))
            more_bytes = end - self.size(operation.file)
            if more_bytes <= 0:
                return True
        else:
            return True
        if self.full:
            return False
        return self.capacity_bytes is None or self.size_bytes + more_bytes <= self.capacity_bytes
