"""The calls of the operating system that the data folder makes: a port, and the system itself.

The simulator has another end (:mod:`reference_broker.simulation.disk.fake_system`), whose power
fails and whose calls do.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import sys
from pathlib import Path
from typing import Protocol

from reference_broker.store.disk.ports import Piece

_SYNC_FILE_RANGE_WRITE = 2
_sync_file_range = None
if sys.platform == "linux":
    _sync_file_range = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if _sync_file_range is not None:
        _sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)


class FileCalls(Protocol):
    """Calls as in :mod:`os`, by the same names, and four more. Each raises ``OSError`` as the
    system gives it, and is never interrupted (PEP 475). A write or read may be of less than was
    asked for."""

    def open(self, path: Path, flags: int, mode: int = 0o777, /) -> int: ...

    def close(self, descriptor: int, /) -> None:
        """Whatever it raises, the descriptor is gone: its number may be another's at once."""

    def pread(self, descriptor: int, size_bytes: int, offset: int, /) -> bytes: ...

    def pwrite(self, descriptor: int, data: Piece, offset: int, /) -> int: ...

    def ftruncate(self, descriptor: int, size_bytes: int, /) -> None: ...

    def fstat(self, descriptor: int, /) -> os.stat_result: ...

    def fsync(self, descriptor: int, /) -> None: ...

    def listdir(self, path: Path, /) -> list[str]: ...

    def replace(self, path: Path, new: Path, /) -> None: ...

    def stat(self, path: Path, /) -> os.stat_result: ...

    def statvfs(self, path: Path, /) -> os.statvfs_result: ...

    def unlink(self, path: Path, /) -> None: ...

    def posix_fallocate(self, descriptor: int, offset: int, size_bytes: int, /) -> None:
        """Raises ``ENOSYS`` on a system that doesn't have it."""

    def sync_file(self, descriptor: int, /) -> None:
        """Sync a file's data to the medium, not only to the drive's cache."""

    def begin_writing_out(self, descriptor: int, offset: int, size_bytes: int, /) -> None:
        """Have that part of a file begin its way to the medium, where the system can. It promises
        nothing and raises nothing: what goes wrong is told by the next sync."""

    def lock(self, descriptor: int, /) -> None:
        """Lock a file for this process until the descriptor is closed. Raises ``BlockingIOError``
        when another process has it."""

    def make_directory(self, path: Path, /) -> bool:
        """Create a directory, and those above it, if it isn't there; true if it wasn't."""


class SystemCalls:
    """The system. Its functions are bound as they are: a call through this costs no more than one
    through :mod:`os`."""

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    pread = staticmethod(os.pread)
    pwrite = staticmethod(os.pwrite)
    ftruncate = staticmethod(os.ftruncate)
    fstat = staticmethod(os.fstat)
    fsync = staticmethod(os.fsync)
    replace = staticmethod(os.replace)
    statvfs = staticmethod(os.statvfs)
    unlink = staticmethod(os.unlink)

    @staticmethod
    def listdir(path: Path) -> list[str]:
        return os.listdir(path)

    @staticmethod
    def stat(path: Path) -> os.stat_result:
        return os.stat(path)

    @staticmethod
    def posix_fallocate(descriptor: int, offset: int, size_bytes: int) -> None:
        if not hasattr(os, "posix_fallocate"):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        os.posix_fallocate(descriptor, offset, size_bytes)

    @staticmethod
    def sync_file(descriptor: int) -> None:
        # On macOS fdatasync leaves the data in the drive's cache.
        if hasattr(fcntl, "F_FULLFSYNC"):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)

    @staticmethod
    def begin_writing_out(descriptor: int, offset: int, size_bytes: int) -> None:
        if _sync_file_range is not None:
            _sync_file_range(descriptor, offset, size_bytes, _SYNC_FILE_RANGE_WRITE)

    @staticmethod
    def lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @staticmethod
    def make_directory(path: Path) -> bool:
        if path.is_dir():
            return False
        path.mkdir(parents=True, exist_ok=True)
        return True


SYSTEM: FileCalls = SystemCalls()
