"""A small fake of the operating system's calls, over the simulated disk: descriptors, and calls
that fail or do less than they were asked for.

What is written goes to the disk's :class:`~reference_broker.simulation.disk.medium.Medium`, so that
a power loss is the same for it and for the disk's own operations.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from random import Random
from typing import NamedTuple

from reference_broker.runtime.disk.data_folder import LOCK_FILE
from reference_broker.simulation.disk.medium import MediumFile
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.store.disk.ports import Piece

DESCRIPTORS = 8
"""Descriptors of a process: what the broker needs for its files (the lock, one that is written by
each of three threads, and one more for a read of each). One that is never closed is missed soon."""

_FIRST_DESCRIPTOR = 3
_BLOCK_BYTES = 4_096


class _Opened(NamedTuple):
    file: MediumFile | None
    """``None`` for the directory."""
    name: str
    writes: bool


class FakeSystem:
    """Implements :class:`reference_broker.runtime.disk.system_calls.FileCalls` for one folder of
    ``disk``, which has the faults: its next failures are those of calls, its power fails between
    two of them. Of the reads and writes as many are short as ``short_chance`` says. A call for what
    is not open is a failed assertion: a real one might reach a file of somebody else's."""

    def __init__(self, disk: PoweredDisk, random: Random, short_chance: float = 0.0) -> None:
        self._disk = disk
        self._medium = disk.medium
        self._counts = disk.counts
        self._random = random
        self._short_chance = short_chance
        self._opened: dict[int, _Opened] = {}
        self._lock_file = MediumFile(0)
        self._locked_by = -1

    @property
    def open_files(self) -> list[str]:
        """The names of what is open, as they were when it was opened; the directory has none."""
        return [opened.name for opened in self._opened.values()]

    def process_ended(self) -> None:
        """Close all that is open, without a sync."""
        self._opened.clear()
        self._locked_by = -1

    # By path

    def open(self, path: Path, flags: int, mode: int = 0o777, /) -> int:
        if self._disk.no_descriptors:
            self._counts["opens without a descriptor"] += 1
            raise OSError(errno.ENFILE, "Too many open files in system", str(path))
        if len(self._opened) >= DESCRIPTORS:
            raise OSError(errno.EMFILE, "Too many open files", str(path))
        writes = bool(flags & os.O_RDWR)
        opened = _Opened(None, "", writes)
        if not flags & os.O_DIRECTORY:
            opened = _Opened(self._file(path.name, flags), path.name, writes)
        descriptor = _FIRST_DESCRIPTOR
        while descriptor in self._opened:
            descriptor += 1
        self._opened[descriptor] = opened
        return descriptor

    def _file(self, name: str, flags: int) -> MediumFile:
        if name == LOCK_FILE:
            return self._lock_file
        if not flags & os.O_CREAT:
            return self._medium.file(name)
        self._may_fail(name)
        file = self._medium.files.get(name)
        if file is None:
            self._disk.need_room(0)
            file = MediumFile(0)
            self._medium.rename({name: file})
        elif flags & os.O_TRUNC:
            file.reserved_bytes = 0
            file.resize(0)
        return file

    def listdir(self, path: Path, /) -> list[str]:
        return [LOCK_FILE, *self._medium.files]

    def replace(self, path: Path, new: Path, /) -> None:
        self._may_fail(path.name)
        self._medium.rename({new.name: self._medium.file(path.name), path.name: None})

    def unlink(self, path: Path, /) -> None:
        self._may_fail(path.name)
        self._medium.file(path.name)
        self._medium.rename({path.name: None})

    def stat(self, path: Path, /) -> os.stat_result:
        return _stat(self._medium.file(path.name))

    def statvfs(self, path: Path, /) -> os.statvfs_result:
        blocks = self._disk.free_bytes() // _BLOCK_BYTES
        figures = (_BLOCK_BYTES, _BLOCK_BYTES, blocks, blocks, blocks, 0, 0, 0, 0, 255)
        return os.statvfs_result(figures)

    def make_directory(self, path: Path, /) -> bool:
        return False

    # By descriptor

    def close(self, descriptor: int, /) -> None:
        opened = self._of(descriptor)
        del self._opened[descriptor]
        if descriptor == self._locked_by:
            self._locked_by = -1
        if self._disk.close_fails and opened.writes and opened.name != LOCK_FILE:
            self._disk.close_fails = False
            self._counts["failed closes"] += 1
            self._content(opened).fail_to_sync()  # as on NFS: nobody else is told
            raise OSError(errno.EIO, "simulated failure of a close", opened.name)
        self._may_fail(opened.name)

    def pread(self, descriptor: int, size_bytes: int, offset: int, /) -> bytes:
        opened = self._of(descriptor)
        self._disk.need_readable(opened.name)
        content = memoryview(self._content(opened).written)[offset : offset + size_bytes]
        return bytes(content[: self._at_most(len(content), "short reads")])

    def pwrite(self, descriptor: int, data: Piece, offset: int, /) -> int:
        opened = self._to_write(descriptor)
        file = self._content(opened)
        size = self._at_most(len(data), "short writes")
        self._grow(file, offset + size)
        self._medium.write(file, offset, bytes(data[:size]))
        return size

    def ftruncate(self, descriptor: int, size_bytes: int, /) -> None:
        file = self._content(self._to_write(descriptor))
        self._grow(file, size_bytes)
        file.resize(size_bytes)

    def posix_fallocate(self, descriptor: int, offset: int, size_bytes: int, /) -> None:
        file = self._content(self._to_write(descriptor))
        before, end = len(file.written), offset + size_bytes
        try:
            self._grow(file, end)
        except OSError:
            file.resize(self._random.randint(before, end))  # as far as it went
            raise
        file.resize(max(before, end))
        file.reserved_bytes = max(file.reserved_bytes, end)

    def fstat(self, descriptor: int, /) -> os.stat_result:
        return _stat(self._content(self._of(descriptor)))

    def fsync(self, descriptor: int, /) -> None:
        """Of a directory: nobody asks for another."""
        opened = self._of(descriptor)
        assert opened.file is None
        self._may_fail(opened.name)
        self._medium.sync_names()

    def sync_file(self, descriptor: int, /) -> None:
        opened = self._of(descriptor)
        file = self._content(opened)
        try:
            self._may_fail(opened.name)
        except OSError:
            file.fail_to_sync()
            raise
        file.sync()

    def begin_writing_out(self, descriptor: int, offset: int, size_bytes: int, /) -> None:
        """Do nothing: written octets may be on the medium at any time anyway."""
        self._of(descriptor)

    def lock(self, descriptor: int, /) -> None:
        self._of(descriptor)
        if self._locked_by >= 0:
            raise BlockingIOError(errno.EWOULDBLOCK, "Resource temporarily unavailable")
        self._locked_by = descriptor

    def _of(self, descriptor: int) -> _Opened:
        opened = self._opened.get(descriptor)
        assert opened is not None, f"descriptor {descriptor} is not open"
        return opened

    def _to_write(self, descriptor: int) -> _Opened:
        opened = self._of(descriptor)
        assert opened.writes, f"'{opened.name}' is open for reading"
        self._may_fail(opened.name)
        return opened

    def _content(self, opened: _Opened) -> MediumFile:
        assert opened.file is not None, "a directory has no content"
        return opened.file

    def _may_fail(self, name: str) -> None:
        self._counts["calls of the system"] += 1
        self._disk.need_power(name)
        error = self._disk.next_failure()
        if error:
            raise OSError(error, "simulated failure of a call", name)

    def _grow(self, file: MediumFile, end: int) -> None:
        more_bytes = end - len(file.written)
        if more_bytes > 0:
            self._disk.need_room(more_bytes)

    def _at_most(self, size: int, kind: str) -> int:
        if size < 2 or self._random.random() >= self._short_chance:
            return size
        self._counts[kind] += 1
        return self._random.randint(1, size - 1)


def _stat(file: MediumFile) -> os.stat_result:
    return os.stat_result((0, 0, 0, 1, 0, 0, len(file.written), 0, 0, 0))
