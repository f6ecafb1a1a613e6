"""The data folder: real files, and the lock that keeps a second broker out of them.

Implements :class:`reference_broker.store.disk.ports.Disk`. No call is retried: what an error means
is for the caller to decide.

Three threads use the folder, each through a :class:`FolderAccess` of its own, so that no descriptor
is shared. What is written is kept open, since a thread writes to one file at a time. What is read
is opened for each read: that costs a few microseconds for up to a MiB, and a file that was deleted
meanwhile is then missing, where an old descriptor would also keep its room on the disk.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from reference_broker.errors import DataDirectoryLocked
from reference_broker.runtime.disk.system_calls import SYSTEM, FileCalls
from reference_broker.store.disk.ports import (
    CreateFile,
    CreateSpare,
    DeleteFile,
    Operation,
    Piece,
    RenameFile,
    Sync,
    SyncDirectory,
    TruncateFile,
    Write,
)

LOCK_FILE = "lock"

WRITE_BYTES = 128 * 1024
"""Most bytes of one write call; smaller pieces are joined up to it, so that calls are few and there
is no second copy of a large batch in memory. Not more, since Linux takes the page cache's memory in
blocks as large as the write: in a virtual machine that gives its free blocks of such a size back to
the host, each write of more made the host find new memory, 2 ms a MiB where 0.2 are usual."""

WRITE_OUT_BYTES = 8 * 1024 * 1024
"""Bytes after which the disk begins with what was written, while more is. Only a large message has
so much in a batch: writing 128 MiB, and only then the sync, takes twice as long, and all who
published behind it wait."""

_FALLOCATE_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class FolderAccess:
    """One thread's access to the files of ``directory``."""

    def __init__(self, directory: Path, calls: FileCalls = SYSTEM) -> None:
        self.directory = directory
        self._calls = calls
        self._file = ""
        self._descriptor = -1
        self.syncs = 0
        """fdatasync and fsync calls so far. Only the thread that performs counts."""

    def close(self) -> None:
        """Close what is open; idempotent, and it is opened again when it is needed. Nothing is said
        of a close that fails: what had to be on the disk was synced."""
        with suppress(OSError):
            self._close_file()

    def list_files(self) -> Sequence[str]:
        return self._calls.listdir(self.directory)

    def read(self, file: str) -> bytes:
        return self.read_range(file, 0, self.size(file))

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        calls = self._calls
        descriptor = calls.open(self.directory / file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = calls.pread(descriptor, size_bytes, offset)
            while len(data) < size_bytes:
                more = calls.pread(descriptor, size_bytes - len(data), offset + len(data))
                if not more:
                    break
                data += more
            return data
        finally:
            _let_go(calls, descriptor)

    def size(self, file: str) -> int:
        return self._calls.stat(self.directory / file).st_size

    def free_bytes(self) -> int:
        """Bytes that an ordinary user may still write."""
        found = self._calls.statvfs(self.directory)
        return found.f_bavail * found.f_frsize

    def perform(self, operation: Operation) -> None:
        match operation:
            case Write(file, offset, pieces):
                self._write(self._open(file), offset, pieces)
            case Sync(file):
                self._calls.sync_file(self._open(file))
                self.syncs += 1
            case CreateFile(file, size_bytes):
                self._create(file, size_bytes, os.O_TRUNC)
            case CreateSpare(file, size_bytes):
                self._create(file, size_bytes, 0)
            case SyncDirectory():
                _sync_directory(self._calls, self.directory)
                self.syncs += 1
            case TruncateFile(file, size_bytes):
                self._calls.ftruncate(self._open(file), size_bytes)
            case RenameFile(file, new):
                self._close_file()
                self._calls.replace(self.directory / file, self.directory / new)
            case DeleteFile(file):
                self._close_file()
                self._calls.unlink(self.directory / file)

    def _open(self, file: str) -> int:
        if file != self._file:
            self._close_file()
            self._descriptor = self._calls.open(self.directory / file, os.O_RDWR | os.O_CLOEXEC)
            self._file = file
        return self._descriptor

    def _close_file(self) -> None:
        """Some file systems tell only here of what they could not write."""
        descriptor = self._descriptor
        # One whose close fails is gone, too: its number may be another's already.
        self._descriptor = -1
        self._file = ""
        if descriptor >= 0:
            self._calls.close(descriptor)

    def _create(self, file: str, size_bytes: int, truncate: int) -> None:
        self._close_file()
        path = self.directory / file
        flags = os.O_RDWR | os.O_CREAT | truncate | os.O_CLOEXEC
        descriptor = self._calls.open(path, flags, 0o600)
        try:
            self._reserve_or_undo(descriptor, path, size_bytes)
        except OSError:
            _let_go(self._calls, descriptor)
            raise
        self._descriptor = descriptor
        self._file = file

    def _reserve_or_undo(self, descriptor: int, path: Path, size_bytes: int) -> None:
        calls = self._calls
        size_before = calls.fstat(descriptor).st_size
        try:
            _reserve(calls, descriptor, size_bytes)
        except OSError:
            if size_before:
                calls.ftruncate(descriptor, size_before)
            else:
                calls.unlink(path)
            raise

    def _write(self, descriptor: int, offset: int, pieces: list[Piece]) -> None:
        joined: list[Piece] = []
        size = 0
        begun = offset
        for piece in pieces:
            if size + len(piece) > WRITE_BYTES:  # A larger piece is alone, and so not copied.
                _write_all(self._calls, descriptor, offset, joined)
                offset += size
                joined = []
                size = 0
                if offset - begun >= WRITE_OUT_BYTES:
                    self._calls.begin_writing_out(descriptor, begun, offset - begun)
                    begun = offset
            joined.append(piece)
            size += len(piece)
        _write_all(self._calls, descriptor, offset, joined)


class DataFolder(FolderAccess):
    """``directory``, created if it isn't there, and locked until :meth:`close`.

    Raises :exc:`DataDirectoryLocked` when another process has it. Operations may be performed on
    another thread than the one that opened it, but by one at a time; a second thread needs
    :meth:`access`.
    """

    def __init__(self, directory: Path, calls: FileCalls = SYSTEM) -> None:
        if calls.make_directory(directory):
            _sync_directory(calls, directory.parent)
        super().__init__(directory, calls)
        self._lock = _lock(calls, directory)

    def access(self) -> FolderAccess:
        """The same files for another thread; the lock stays here."""
        return FolderAccess(self.directory, self._calls)

    def close(self) -> None:
        """Give the lock back, too; idempotent."""
        super().close()
        if self._lock >= 0:
            lock, self._lock = self._lock, -1
            _let_go(self._calls, lock)


def _let_go(calls: FileCalls, descriptor: int) -> None:
    """Close a file that was read, or of which nothing is wanted: what a close fails at is then of
    no account."""
    with suppress(OSError):
        calls.close(descriptor)


def _write_all(calls: FileCalls, descriptor: int, offset: int, pieces: list[Piece]) -> None:
    rest = memoryview(pieces[0] if len(pieces) == 1 else b"".join(pieces))
    while rest:
        written = calls.pwrite(descriptor, rest[:WRITE_BYTES], offset)
        offset += written
        rest = rest[written:]


def _reserve(calls: FileCalls, descriptor: int, size_bytes: int) -> None:
    """Reserve space for a file. A file system that can't do it gives a sparse file instead: a full
    disk then shows as a failed write."""
    try:
        calls.posix_fallocate(descriptor, 0, size_bytes)
    except OSError as error:
        if error.errno not in _FALLOCATE_UNSUPPORTED:
            raise
    calls.ftruncate(descriptor, size_bytes)


def _sync_directory(calls: FileCalls, directory: Path) -> None:
    descriptor = calls.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        calls.fsync(descriptor)
    finally:
        calls.close(descriptor)


def _lock(calls: FileCalls, directory: Path) -> int:
    descriptor = calls.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        calls.lock(descriptor)
    except OSError as error:
        _let_go(calls, descriptor)
        raise DataDirectoryLocked(
            f"{directory} is in use by another broker: stop it, or choose another folder"
        ) from error
    return descriptor
