"""A new file that is there whole, or under a name that says that it is not.

It is written as ``NAME.part``, which is created exclusively, only for its owner, and takes its
``NAME`` when it is complete. Neither ever replaces a file. A name is synced with its folder.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO

from mqkit.lots.archive.fault import ArchiveFault, in_words

PART = ".part"
MODE = 0o600
FOLDER_MODE = 0o700
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Answers of file systems that have no hard links."""


class NewFile:
    """Call :meth:`create` first, then :meth:`append` and :meth:`sync`; end with :meth:`complete`
    or :meth:`abandon`. Each raises :exc:`ArchiveFault`, and after a failed append or sync the
    file ends where it was synced last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(path.name + PART)
        self._file: BinaryIO | None = None
        self._synced = 0

    def create(self) -> None:
        """Raises for a path that is taken, whether complete or not."""
        try:
            _make_folders(self.path.parent)
            if os.path.lexists(self.path):
                raise FileExistsError(errno.EEXIST, "the file is there already")
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.part, flags, MODE)
            os.fchmod(descriptor, MODE)
            self._file = os.fdopen(descriptor, "r+b", buffering=0)
            sync_folder(self.path.parent)
        except FileExistsError as error:
            self.abandon()
            taken = self.path if os.path.lexists(self.path) else self.part
            raise ArchiveTaken(
                f"{taken}: {in_words(error)}, and no archive is ever replaced: name another"
            ) from None
        except OSError as error:
            self.abandon()
            raise self._fault(error) from None

    @property
    def binary(self) -> BinaryIO:
        """The open file, for who writes by himself; :meth:`sync` counts what he wrote."""
        assert self._file is not None
        return self._file

    def append(self, octets: bytes) -> None:
        """Write all of them behind what is there."""
        view = memoryview(octets)
        try:
            while view:
                view = view[self.binary.write(view) :]
        except OSError as error:
            self._cut_back()
            raise self._fault(error) from None

    def sync(self) -> None:
        """When this returns the disk has what was written."""
        try:
            os.fsync(self.binary.fileno())
            self._synced = self.binary.seek(0, os.SEEK_END)
        except OSError as error:
            self._cut_back()
            raise self._fault(error) from None

    def complete(self) -> Path:
        """Sync, and give the file its name."""
        self.sync()
        self.binary.close()
        self._file = None
        try:
            _rename_exclusively(self.part, self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise self._fault(error) from None
        return self.path

    def abandon(self) -> Path | None:
        """Close it. The path under which a synced part of it is left; one of which nothing was
        synced is removed. Idempotent."""
        file, self._file = self._file, None
        if file is None:
            return None
        file.close()
        if self._synced:
            return self.part
        self.part.unlink(missing_ok=True)
        return None

    def _cut_back(self) -> None:
        """A disk that is full, or fails, may have taken a piece: half a window helps nobody."""
        try:
            self.binary.truncate(self._synced)
        except OSError:
            return  # what is behind the last whole window is recognised when it is read

    def _fault(self, error: OSError) -> ArchiveFault:
        return ArchiveFault(f"{self.path} can't be written: {in_words(error)}")


class ArchiveTaken(ArchiveFault):
    """There is a file of that name."""


def sync_folder(folder: Path) -> None:
    """When this returns the disk has the names in the folder. Raises ``OSError``."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_folders(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folders(folder.parent)
    try:
        folder.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is no folder") from None
        return
    sync_folder(folder.parent)


def _rename_exclusively(part: Path, path: Path) -> None:
    """A rename would replace what somebody else has put there meanwhile; a link does not."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "the file is there already") from None
        part.rename(path)
        return
    part.unlink()
