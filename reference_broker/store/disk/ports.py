"""Disk operations as values, and the port that performs them.

The log decides and a :class:`Disk` obeys: real files
(:mod:`reference_broker.runtime.disk.data_folder`), the simulator's disk, or one that records.
Operations of a batch are performed in order; that order is what the crash safety of the store rests
on."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Piece = bytes | bytearray | memoryview
"""Bytes to write. They are not copied: a large body stays as it is until it is on the disk."""


@dataclass(slots=True)
class CreateFile:
    """Create ``file`` and reserve ``size_bytes`` that read as zeros. When the disk is full it
    leaves nothing behind, and may be performed again later."""

    file: str
    size_bytes: int


@dataclass(slots=True)
class CreateSpare:
    """As :class:`CreateFile`, but one that is there already is made so large, and a full disk is no
    failure: it leaves what was there, and whoever performs the batch notes it in
    ``batch.spare_missing`` and goes on with the next operation."""

    file: str
    size_bytes: int


@dataclass(slots=True)
class Write:
    """Put the joined ``pieces`` at ``offset``."""

    file: str
    offset: int
    pieces: list[Piece]


@dataclass(slots=True)
class Sync:
    """Returns when everything written to ``file`` so far is on the medium (fdatasync)."""

    file: str


@dataclass(slots=True)
class SyncDirectory:
    """Returns when every creation, renaming and deletion so far is on the medium."""


@dataclass(slots=True)
class TruncateFile:
    """Give back what was reserved beyond ``size_bytes``. Durable at the next :class:`Sync`."""

    file: str
    size_bytes: int


@dataclass(slots=True)
class RenameFile:
    """``file`` is called ``new`` from now on; whatever had that name is gone."""

    file: str
    new: str


@dataclass(slots=True)
class DeleteFile:
    file: str


Operation = (
    CreateFile | CreateSpare | Write | Sync | SyncDirectory | TruncateFile | RenameFile | DeleteFile
)

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
"""The ``errno`` of an ``OSError`` when there is no room."""


class Disk(Protocol):
    """One folder of files. Every method raises ``OSError`` as the system gives it."""

    def list_files(self) -> Sequence[str]:
        """The names in the folder, in no particular order."""
        ...

    def read(self, file: str) -> bytes:
        """All of the file."""
        ...

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        """That part of the file, shorter where the file ends before it. Raises
        ``FileNotFoundError`` when the file is gone."""
        ...

    def size(self, file: str) -> int:
        """Length of the file, with what was reserved for it."""
        ...

    def free_bytes(self) -> int:
        """Bytes that the file system still has for us."""
        ...

    def perform(self, operation: Operation) -> None:
        """Do it, now. After an ``OSError`` nothing may be assumed durable that was not before;
        only the creation of a file may be tried again, after one of :data:`DISK_FULL`, and
        anything for which there was no file descriptor (nothing of it was done)."""
        ...

    def close(self) -> None:
        """Give back what is held (descriptors, the lock); idempotent."""
        ...
