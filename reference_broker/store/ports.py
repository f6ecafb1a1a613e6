"""What the store asks of a disk: operations as values, and the port that performs them.

The log decides and a :class:`Disk` obeys: real files (:mod:`reference_broker.runtime.data_folder`),
the simulator's disk, or one that records. Operations of a batch are performed in order; that order
is what the crash safety of the store rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class CreateFile:
    """Create ``file`` and reserve ``size_bytes`` that read as zeros. The only operation that may
    find the disk full: then it leaves nothing behind, and may be performed again later."""

    file: str
    size_bytes: int


@dataclass(slots=True)
class Write:
    """Put the joined ``pieces`` at ``offset``."""

    file: str
    offset: int
    pieces: list[bytes]


@dataclass(slots=True)
class Sync:
    """Returns when everything written to ``file`` so far is on the medium (fdatasync)."""

    file: str


@dataclass(slots=True)
class SyncDirectory:
    """Returns when every creation, renaming and deletion so far is on the medium."""


@dataclass(slots=True)
class TruncateFile:
    """Give back what was reserved beyond ``size_bytes``."""

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


Operation = CreateFile | Write | Sync | SyncDirectory | TruncateFile | RenameFile | DeleteFile


class Disk(Protocol):
    """One folder of files. Every method raises ``OSError`` as the system gives it."""

    def list_files(self) -> Sequence[str]:
        """The names in the folder, in no particular order."""
        ...

    def read(self, file: str) -> bytes:
        """All of the file."""
        ...

    def perform(self, operation: Operation) -> None:
        """Do it, now. After an ``OSError`` nothing may be assumed durable that was not before;
        only :class:`CreateFile` may be tried again, after ``ENOSPC`` or ``EDQUOT``."""
        ...

    def close(self) -> None:
        """Give back what is held (descriptors, the lock); idempotent."""
        ...
