"""The formats of archives behind one face, chosen by the end of a file's name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.file import PART
from mqkit.lots.archive.record import Record

VERSION = 1
MARK = "mqkit lot"
"""The first line of an archive says ``{"archive": "mqkit lot", "version": 1, ...}``."""

SUFFIXES = (".jsonl.gz", ".parquet")


@dataclass(frozen=True, slots=True)
class Origin:
    """The lot that an archive is of, and the time at which it was begun (aware)."""

    lot: str
    vhost: str
    begun: datetime


class ArchiveWriter(Protocol):
    """A new archive. Its file is made by the first :meth:`write`; end with :meth:`complete` or
    :meth:`abandon`. All block for the disk: call them from a thread. They raise
    :exc:`~mqkit.lots.archive.fault.ArchiveFault`."""

    @property
    def path(self) -> Path:
        """The name that the file has when it is complete."""
        ...

    def write(self, window: Sequence[Record]) -> None:
        """Append messages."""
        ...

    def sync(self) -> int:
        """The messages written so far that may leave their lot now: disk and folder have them, and
        they can be restored even if nothing more is ever written. Not all formats have any before
        :meth:`complete`."""
        ...

    def complete(self) -> None:
        """Write the end, sync, and give the file its name; now all of them may leave their lot."""
        ...

    def abandon(self) -> Path | None:
        """Close the file; the path of what is left of it, if messages are in it that may have left
        their lot. Idempotent; does nothing after :meth:`complete`."""
        ...


class ArchiveReader(Protocol):
    """An archive that is being read."""

    @property
    def origin(self) -> Origin: ...
    @property
    def is_whole(self) -> bool:
        """True when it has been read to its end, and the end says that this was all."""
        ...

    def records(self) -> Iterator[Record]:
        """The messages in order. Raises :exc:`~mqkit.lots.archive.fault.ArchiveFault` for what is
        damaged, naming the line; a torn end only ends it."""
        ...


def writer(path: Path, origin: Origin) -> ArchiveWriter:
    """A writer of the format that the name of ``path`` ends with. Raises
    :exc:`~mqkit.lots.archive.fault.ArchiveFault` for another end, and where the format needs a
    package that is not installed."""
    if path.name.endswith(SUFFIXES[0]):
        from mqkit.lots.archive.json_lines import JsonLinesWriter

        return JsonLinesWriter(path, origin)
    if path.name.endswith(SUFFIXES[1]):
        from mqkit.lots.archive.parquet import ParquetWriter

        return ParquetWriter(path, origin)
    raise ArchiveFault(f"{path}: an archive's name ends in {' or '.join(SUFFIXES)}")


def reader(path: Path) -> AbstractContextManager[ArchiveReader]:
    """A reader for ``path``, for the time of a block; a torn archive is called ``NAME.part``.
    Raises as :func:`writer`, and for a file that can't be read or is no archive."""
    name = path.name.removesuffix(PART)
    if name.endswith(SUFFIXES[0]):
        from mqkit.lots.archive.json_lines import read_json_lines

        return read_json_lines(path)
    if name.endswith(SUFFIXES[1]):
        from mqkit.lots.archive.parquet import read_parquet

        return read_parquet(path)
    raise ArchiveFault(f"{path}: an archive's name ends in {' or '.join(SUFFIXES)}")
