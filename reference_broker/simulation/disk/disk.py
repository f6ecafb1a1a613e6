"""A disk in memory that behaves as badly as real ones may.

It has two states: what the running process sees (cached), and what a crash leaves (durable).
Writes become durable by :class:`Sync`, names by :class:`SyncDirectory`; until then a crash may drop
them, keep them, or keep any part of them. A failed sync marks the pages clean: later syncs succeed
and the data is never on the medium (ext4, XFS and Btrfs do that: Rebello et al., ATC 2020).
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from enum import Enum
from random import Random

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

SECTOR_BYTES = 512
"""Bytes that a disk writes in one piece."""

FREE_BYTES = 1 << 40
"""Free bytes of a disk that is never full by itself: the faults fill it."""


class Crash(Enum):
    """Fate of everything that was not synced."""

    DROP = "drop"
    KEEP = "keep"
    TEAR_LAST = "tear last"
    """Everything is kept but the last write, of which a prefix is: cut at any byte."""
    SUBSET = "subset"
    """Any sectors of any writes are kept, and any of the creations, renamings and deletions."""


class _File:
    """A file. ``written`` is what the process sees; ``durable`` what the medium has of it."""

    __slots__ = ("durable", "flipped", "reserved_bytes", "unsynced", "written")

    def __init__(self, size_bytes: int) -> None:
        self.written = bytearray(size_bytes)
        self.durable = bytearray()
        self.unsynced: list[tuple[int, bytes]] = []
        self.reserved_bytes = size_bytes
        self.flipped: list[int] = []

    def write(self, offset: int, data: bytes) -> None:
        if self.reserved_bytes and offset + len(data) > self.reserved_bytes:
            raise AssertionError("a write goes over what was reserved: a full disk might refuse it")
        _put(self.written, offset, data)
        self.unsynced.append((offset, data))

    def flip(self, bit: int) -> None:
        self.flipped.append(bit)
        _flip(self.written, bit)
        _flip(self.durable, bit)

    def sync(self) -> None:
        _resize(self.durable, len(self.written))
        for offset, data in self.unsynced:
            _put(self.durable, offset, data)
        self.unsynced.clear()


class SimulatedDisk:
    """Implements :class:`reference_broker.store.disk.ports.Disk`.

    ``fail_at(n, error)`` makes the n-th operation from now (1 is the next) raise ``OSError``;
    ``crash(how)`` is a power loss: afterwards the disk shows what a new process would find.
    Everything random comes from ``random``, so a run is reproduced by its seed.
    """

    def __init__(self, random: Random | None = None) -> None:
        self.performed: list[Operation] = []
        self._random = random or Random(0)
        self._files: dict[str, _File] = {}
        self._durable_names: dict[str, _File] = {}
        self._name_changes: list[dict[str, _File | None]] = []
        self._last_written: _File | None = None
        self._failures: dict[int, int] = {}
        self._count = 0

    @property
    def operations(self) -> int:
        """Operations that were asked for, those that failed included."""
        return self._count

    @property
    def size_bytes(self) -> int:
        """Bytes of all files together."""
        return sum(len(file.written) for file in self._files.values())

    def fail_at(self, operation: int, error: int = errno.EIO) -> None:
        self._failures[self._count + operation] = error

    def list_files(self) -> Sequence[str]:
        return list(self._files)

    def list_durable_files(self) -> Sequence[str]:
        """The names that no crash takes away."""
        return list(self._durable_names)

    def read(self, file: str) -> bytes:
        return bytes(self._content(file))

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        return bytes(memoryview(self._content(file))[offset : offset + size_bytes])

    def size(self, file: str) -> int:
        return len(self._content(file))

    def free_bytes(self) -> int:
        return FREE_BYTES

    def flip(self, file: str, bit: int) -> None:
        """Flip a bit, on the medium and in the cache."""
        self._files[file].flip(bit)

    @property
    def rotten(self) -> bool:
        """True when a bit of a file that is still here was flipped."""
        return any(file.flipped for file in self._files.values())

    def perform(self, operation: Operation) -> None:
        self._count += 1
        error = self._failures.pop(self._count, 0)
        if error:
            self._fail(operation, error)
        self.performed.append(operation)
        match operation:
            case CreateFile(file, size_bytes) | CreateSpare(file, size_bytes):
                self._rename({file: _File(size_bytes)})
            case Write(file, offset, pieces):
                self._last_written = self._files[file]
                self._last_written.write(offset, b"".join(pieces))
            case Sync(file):
                self._files[file].sync()
            case SyncDirectory():
                self._durable_names = dict(self._files)
                self._name_changes.clear()
            case TruncateFile(file, size_bytes):
                del self._files[file].written[size_bytes:]
            case RenameFile(file, new):
                self._rename({new: self._files[file], file: None})
            case DeleteFile(file):
                self._content(file)
                self._rename({file: None})

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def copy(self, *, healed: bool = False) -> SimulatedDisk:
        """Another disk with the same files, all of them as a crash that keeps nothing unsynced
        would leave them. A change of one disk is none of the other. If it is ``healed`` no bit is
        flipped there."""
        other = SimulatedDisk()
        for name, file in self._durable_names.items():
            twin = other._files[name] = _File(0)
            twin.written = bytearray(file.durable)
            twin.durable = bytearray(file.durable)
            for bit in file.flipped if healed else ():
                twin.flip(bit)
        other._durable_names = dict(other._files)
        return other

    def crash(self, how: Crash = Crash.DROP, torn_at: int = 0) -> None:
        """Lose power. ``torn_at`` is the length of the prefix for :attr:`Crash.TEAR_LAST`."""
        names = self._surviving_names(how)
        for file in names.values():
            self._survive(file, how, torn_at)
        self._files = names
        self._durable_names = dict(names)
        self._name_changes.clear()
        self._last_written = None
        self._failures.clear()

    def _content(self, file: str) -> bytearray:
        if file not in self._files:
            raise FileNotFoundError(errno.ENOENT, "simulated absence", file)
        return self._files[file].written

    def _fail(self, operation: Operation, error: int) -> None:
        if isinstance(operation, Sync):
            self._files[operation.file].unsynced.clear()
        raise OSError(error, f"simulated failure of {operation}")

    def _rename(self, change: dict[str, _File | None]) -> None:
        """Change the directory; the change survives a crash as a whole or not at all."""
        self._name_changes.append(change)
        _apply(change, self._files)

    def _surviving_names(self, how: Crash) -> dict[str, _File]:
        if how in (Crash.KEEP, Crash.TEAR_LAST):
            return dict(self._files)
        names = dict(self._durable_names)
        if how is Crash.SUBSET:
            for change in self._name_changes:
                if self._random.random() < 0.5:
                    _apply(change, names)
        return names

    def _survive(self, file: _File, how: Crash, torn_at: int) -> None:
        if how is not Crash.DROP:
            _resize(file.durable, len(file.written))
        for index, (offset, data) in enumerate(file.unsynced):
            last = file is self._last_written and index == len(file.unsynced) - 1
            if how is Crash.KEEP or (how is Crash.TEAR_LAST and not last):
                _put(file.durable, offset, data)
            elif how is Crash.TEAR_LAST:
                _put(file.durable, offset, data[:torn_at])
            elif how is Crash.SUBSET:
                for start, end in _sectors(offset, len(data)):
                    if self._random.random() < 0.5:
                        _put(file.durable, start, data[start - offset : end - offset])
        file.written = bytearray(file.durable)
        file.unsynced.clear()


def _apply(change: dict[str, _File | None], names: dict[str, _File]) -> None:
    for file, content in change.items():
        if content is None:
            names.pop(file, None)
        else:
            names[file] = content


def _sectors(offset: int, length: int) -> list[tuple[int, int]]:
    """The parts of a write that lie in one sector each."""
    edges = range(offset - offset % SECTOR_BYTES, offset + length, SECTOR_BYTES)
    return [(max(edge, offset), min(edge + SECTOR_BYTES, offset + length)) for edge in edges]


def _put(content: bytearray, offset: int, data: bytes) -> None:
    _resize(content, max(len(content), offset + len(data)))
    content[offset : offset + len(data)] = data


def _flip(content: bytearray, bit: int) -> None:
    if bit // 8 < len(content):
        content[bit // 8] ^= 1 << (bit % 8)


def _resize(content: bytearray, size_bytes: int) -> None:
    if len(content) < size_bytes:
        content.extend(bytes(size_bytes - len(content)))
    else:
        del content[size_bytes:]
