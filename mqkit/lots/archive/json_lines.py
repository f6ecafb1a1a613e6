"""Archives as gzipped lines of JSON: ``zcat FILE | jq`` reads them.

Each window is a gzip member of its own, so what is synced can be read whatever comes after it: a
torn archive has all messages that have left their lot. The first line names the lot, the last one
has the count and a digest (:mod:`mqkit.lots.archive.ends`); between them a line each message.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mqkit.lots.archive.ends import first_line, fits, is_last, last_line, origin_of
from mqkit.lots.archive.fault import ArchiveFault, in_words
from mqkit.lots.archive.file import NewFile
from mqkit.lots.archive.formats import Origin
from mqkit.lots.archive.record import Record, as_object, from_json, to_json

LINE_OCTETS_MAX = 1 << 30
"""The longest line: the largest body that a broker has (512 MiB) as base64, and its headers."""

GZIP_LEVEL = 5
"""Level 9 takes five times as long for 2 % less."""


class JsonLinesWriter:
    """An :class:`~mqkit.lots.archive.formats.ArchiveWriter`."""

    def __init__(self, path: Path, origin: Origin) -> None:
        self.path = path
        self._file = NewFile(path)
        self._origin = origin
        self._digest = hashlib.sha256()
        self._is_created = False
        self._written = 0

    def write(self, window: Sequence[Record]) -> None:
        lines = [to_json(record) + b"\n" for record in window]
        if not self._is_created:
            self._file.create()
            self._is_created = True
            lines.insert(0, first_line(self._origin) + b"\n")
        self._append(lines)
        self._written += len(window)

    def sync(self) -> int:
        self._file.sync()
        return self._written

    def complete(self) -> None:
        self._append([last_line(self._written, self._digest.hexdigest()) + b"\n"])
        self._file.complete()

    def abandon(self) -> Path | None:
        return self._file.abandon()

    def _append(self, lines: Sequence[bytes]) -> None:
        member = b"".join(lines)
        self._file.append(gzip.compress(member, GZIP_LEVEL, mtime=0))
        self._digest.update(member)


@contextmanager
def read_json_lines(path: Path) -> Iterator[JsonLinesReader]:
    """A reader for the time of the block. Raises :exc:`ArchiveFault`."""
    try:
        opened = path.open("rb")
    except OSError as error:
        raise ArchiveFault(f"{path} can't be read: {in_words(error)}") from None
    with opened, gzip.GzipFile(fileobj=opened, mode="rb") as file:
        yield JsonLinesReader(path, file)


class JsonLinesReader:
    """An :class:`~mqkit.lots.archive.formats.ArchiveReader`. Raises :exc:`ArchiveFault` for a file
    whose first line is not that of an archive."""

    def __init__(self, path: Path, file: gzip.GzipFile) -> None:
        self._path = path
        self._file = file
        self._digest = hashlib.sha256()
        self._number = 0
        self.is_whole = False
        line = self._line()
        if line is None:
            raise ArchiveFault(f"{path} is no archive of a lot, or nothing of it was written")
        try:
            self.origin = origin_of(as_object(line))
        except ValueError as error:
            raise ArchiveFault(f"{path} is {error}") from None

    def records(self) -> Iterator[Record]:
        count = 0
        while (line := self._line()) is not None:
            try:
                shown = as_object(line)
                if is_last(shown):
                    self._end(fits(shown, count, self._sha256))
                    return
                yield from_json(line)
            except (ValueError, TypeError) as error:
                raise self._fault(str(error)) from None
            count += 1

    def _end(self, fits: bool) -> None:
        if not fits:
            raise self._fault("its end tells of other messages: it was changed")
        if self._line() is not None:
            raise self._fault("lines behind its end")
        self.is_whole = True

    def _line(self) -> bytes | None:
        """The next whole line; ``None`` at the end, and where the file is torn."""
        self._sha256 = self._digest.hexdigest()
        try:
            line = self._file.readline(LINE_OCTETS_MAX + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            # Cut short; or the disk lost power, and what was never synced is noise. Nothing that
            # comes behind can be told from it.
            return None
        except OSError as error:
            raise ArchiveFault(f"{self._path} can't be read: {in_words(error)}") from None
        self._number += 1
        if len(line) > LINE_OCTETS_MAX:
            raise self._fault("longer than any message")
        if not line.endswith(b"\n"):
            return None
        self._digest.update(line)
        return line[:-1]

    def _fault(self, words: str) -> ArchiveFault:
        return ArchiveFault(f"{self._path}, line {self._number}: {words}")
