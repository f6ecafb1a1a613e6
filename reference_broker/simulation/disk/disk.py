"""A disk in memory that behaves as badly as real ones may: the store's operations, on a
:class:`~reference_broker.simulation.disk.medium.Medium`.

Writes become durable by :class:`Sync`, names by :class:`SyncDirectory`. After a failed sync the
cache lies.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from random import Random

from reference_broker.simulation.disk.medium import Crash, Medium, MediumFile
from reference_broker.store.disk.ports import (
    CreateFile,
    CreateSpare,
    DeleteFile,
    Operation,
    RenameFile,
    Sync,
    SyncDirectory,
    TruncateFile,
    Write,
)

FREE_BYTES = 1 << 40
"""Free bytes of a disk that is never full by itself: the faults fill it."""


class SimulatedDisk:
    """Implements :class:`reference_broker.store.disk.ports.Disk`.

    ``fail_at(n, error)`` makes the n-th operation from now (1 is the next) raise ``OSError``;
    ``crash(how)`` is a power loss: afterwards the disk shows what a new process would find.
    Everything random comes from ``random``, so a run is reproduced by its seed.
    """

    def __init__(self, random: Random | None = None) -> None:
        self.performed: list[Operation] = []
        self.medium = Medium(random or Random(0))
        self._failures: dict[int, int] = {}
        self._count = 0

    @property
    def operations(self) -> int:
        """Operations that were asked for, those that failed included."""
        return self._count

    @property
    def size_bytes(self) -> int:
        """Bytes of all files together."""
        return self.medium.size_bytes

    def fail_at(self, operation: int, error: int = errno.EIO) -> None:
        self._failures[self._count + operation] = error

    def next_failure(self) -> int:
        """Count an operation; the number of the error that it has to raise, or 0."""
        self._count += 1
        return self._failures.pop(self._count, 0)

    def list_files(self) -> Sequence[str]:
        return list(self.medium.files)

    def list_durable_files(self) -> Sequence[str]:
        """The names that no crash takes away."""
        return list(self.medium.durable_names)

    def read(self, file: str) -> bytes:
        return bytes(self.medium.file(file).written)

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        return bytes(memoryview(self.medium.file(file).written)[offset : offset + size_bytes])

    def size(self, file: str) -> int:
        return len(self.medium.file(file).written)

    def free_bytes(self) -> int:
        return FREE_BYTES

    def flip(self, file: str, bit: int) -> None:
        """Flip a bit, on the medium and in the cache."""
        self.medium.files[file].flip(bit)

    @property
    def rotten(self) -> bool:
        """True when a bit of a file that is still here was flipped."""
        return self.medium.rotten

    def perform(self, operation: Operation) -> None:
        medium = self.medium
        error = self.next_failure()
        if error:
            self._fail(operation, error)
        self.performed.append(operation)
        match operation:
            case CreateFile(file, size_bytes) | CreateSpare(file, size_bytes):
                medium.rename({file: MediumFile(size_bytes)})
            case Write(file, offset, pieces):
                medium.write(medium.files[file], offset, b"".join(pieces))
            case Sync(file):
                medium.files[file].sync()
            case SyncDirectory():
                medium.sync_names()
            case TruncateFile(file, size_bytes):
                medium.files[file].resize(size_bytes)
            case RenameFile(file, new):
                medium.rename({new: medium.files[file], file: None})
            case DeleteFile(file):
                medium.file(file)
                medium.rename({file: None})

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def copy(self, *, healed: bool = False) -> SimulatedDisk:
        """Another disk with the same files, all of them as a crash that keeps nothing unsynced
        would leave them. A change of one disk is none of the other. If it is ``healed`` no bit is
        flipped there."""
        other = SimulatedDisk()
        other.medium = self.medium.copy(healed=healed)
        return other

    def crash(self, how: Crash = Crash.DROP, torn_at: int = 0) -> None:
        """Lose power. ``torn_at`` is the length of the prefix for :attr:`Crash.TEAR_LAST`."""
        self.medium.crash(how, torn_at)
        self._failures.clear()

    def _fail(self, operation: Operation, error: int) -> None:
        if isinstance(operation, Sync):
            self.medium.files[operation.file].fail_to_sync()
        raise OSError(error, f"simulated failure of {operation}")
