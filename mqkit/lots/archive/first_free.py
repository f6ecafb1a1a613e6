"""An archive at the first path that nobody has taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.file import ArchiveTaken
from mqkit.lots.archive.formats import ArchiveWriter, Origin, writer
from mqkit.lots.archive.record import Record


class FirstFree:
    """The writer at the first of ``paths`` that is free; it is made by the first :meth:`keep`. Its
    methods block for the disk, and raise :exc:`~mqkit.lots.archive.fault.ArchiveFault`."""

    def __init__(self, paths: Iterator[Path], origin: Origin) -> None:
        self._paths = paths
        self._origin = origin
        self._writer: ArchiveWriter | None = None

    @property
    def is_begun(self) -> bool:
        """True if there is a file."""
        return self._writer is not None

    @property
    def path(self) -> Path | None:
        """The name that the file has when it is complete."""
        return None if self._writer is None else self._writer.path

    def keep(self, window: list[Record]) -> int:
        """Write and sync; how many of all may leave the lot."""
        if self._writer is None:
            self._writer = self._begun(window)
        else:
            self._writer.write(window)
        return self._writer.sync()

    def complete(self) -> None:
        """Give the file its end and its name."""
        assert self._writer is not None
        self._writer.complete()

    def abandon(self) -> Path | None:
        """Close it; the path of what is left of it, as :class:`ArchiveWriter` says. A second call
        does nothing, and returns ``None``."""
        return None if self._writer is None else self._writer.abandon()

    def _begun(self, window: list[Record]) -> ArchiveWriter:
        taken: ArchiveTaken | None = None
        for path in self._paths:
            found = writer(path, self._origin)
            try:
                found.write(window)
            except ArchiveTaken as why:
                taken = taken or why
                continue
            except ArchiveFault:
                found.abandon()
                raise
            return found
        raise taken or ArchiveFault("there is no place for the archive")
