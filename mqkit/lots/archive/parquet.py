"""Archives as Parquet, where pyarrow is installed: for data engineers, with a row a message.

A Parquet file can't be read before its end is written, so no message leaves its lot earlier, and a
torn file has nothing that is not in the lot as well. Columns: ``message_id``, ``parked_at`` and
``record`` (the JSON of :mod:`mqkit.lots.archive.record` without the body) as text, ``body`` as
octets. The first and the last line of :mod:`mqkit.lots.archive.ends` are in the file's metadata.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mqkit.lots.archive.ends import first_line, fits, last_line, origin_of
from mqkit.lots.archive.fault import ArchiveFault, in_words
from mqkit.lots.archive.file import NewFile
from mqkit.lots.archive.formats import Origin
from mqkit.lots.archive.record import Record, as_object, from_json, to_json
from mqkit.lots.parked_time import parked_time

BEGIN_KEY, END_KEY = "mqkit.begin", "mqkit.end"
ROWS_READ = 100
"""Rows that are in memory at a time; a row may have a large body."""


def _pyarrow() -> tuple[Any, Any]:
    """Raises :exc:`ArchiveFault` if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise ArchiveFault(
            "a .parquet archive needs pyarrow: pip install pyarrow (or name a .jsonl.gz)"
        ) from None
    return pyarrow, pyarrow.parquet


class ParquetWriter:
    """An :class:`~mqkit.lots.archive.formats.ArchiveWriter`. Raises :exc:`ArchiveFault` where
    there is no pyarrow."""

    def __init__(self, path: Path, origin: Origin) -> None:
        self.path = path
        self._arrow, self._parquet = _pyarrow()
        self._file = NewFile(path)
        self._origin = origin
        self._rows: Any = None
        self._digest = hashlib.sha256()
        self._written = 0

    def write(self, window: Sequence[Record]) -> None:
        arrow = self._arrow
        text, octets = arrow.string(), arrow.binary()
        fields = [("message_id", text), ("parked_at", text), ("record", text), ("body", octets)]
        schema = arrow.schema(fields, metadata={BEGIN_KEY: first_line(self._origin)})
        if self._rows is None:
            self._file.create()
            self._rows = self._parquet.ParquetWriter(self._file.binary, schema)
        lines = [to_json(record, with_body=False) for record in window]
        for line, record in zip(lines, window, strict=True):
            self._add(line, record.body)
        columns = {
            "message_id": [_readable(record.properties.message_id) for record in window],
            "parked_at": [_parked_at(record) for record in window],
            "record": [line.decode() for line in lines],
            "body": [record.body for record in window],
        }
        try:
            self._rows.write_table(arrow.table(columns, schema=schema))
        except OSError as error:
            raise self._fault(error) from None
        self._written += len(window)

    def sync(self) -> int:
        return 0

    def complete(self) -> None:
        end = last_line(self._written, self._digest.hexdigest())
        try:
            self._rows.add_key_value_metadata({END_KEY: end.decode()})
            self._rows.close()
        except OSError as error:
            raise self._fault(error) from None
        self._file.complete()

    def abandon(self) -> Path | None:
        self._rows = None
        return self._file.abandon()

    def _add(self, line: bytes, body: bytes) -> None:
        self._digest.update(b"%d %d\n" % (len(line), len(body)) + line)
        self._digest.update(body)

    def _fault(self, error: OSError) -> ArchiveFault:
        return ArchiveFault(f"{self.path} can't be written: {in_words(error)}")


@contextmanager
def read_parquet(path: Path) -> Iterator[ParquetReader]:
    """A reader for the time of the block. Raises :exc:`ArchiveFault`."""
    arrow, parquet = _pyarrow()
    try:
        file = parquet.ParquetFile(path)
    except arrow.ArrowInvalid:
        raise ArchiveFault(
            f"{path} is no whole Parquet file: nothing of it has left its lot, delete it"
        ) from None
    except OSError as error:
        raise ArchiveFault(f"{path} can't be read: {in_words(error)}") from None
    with file:
        yield ParquetReader(path, file, arrow)


class ParquetReader:
    """An :class:`~mqkit.lots.archive.formats.ArchiveReader`. Raises :exc:`ArchiveFault` for a
    Parquet file of something else."""

    def __init__(self, path: Path, file: Any, arrow: Any) -> None:
        self._path = path
        self._file = file
        self._arrow = arrow
        self.is_whole = False
        metadata = {
            **(file.metadata.metadata or {}),
            **(file.schema_arrow.metadata or {}),
        }
        try:
            self.origin = origin_of(as_object(metadata.get(BEGIN_KEY.encode(), b"{}")))
            self._end = as_object(metadata.get(END_KEY.encode(), b"{}"))
        except ValueError as error:
            raise ArchiveFault(f"{path} is {error}") from None

    def records(self) -> Iterator[Record]:
        digest, count = hashlib.sha256(), 0
        try:
            for batch in self._file.iter_batches(ROWS_READ, columns=["record", "body"]):
                lines, bodies = batch.column(0).to_pylist(), batch.column(1).to_pylist()
                for text, body in zip(lines, bodies, strict=True):
                    line = text.encode()
                    digest.update(b"%d %d\n" % (len(line), len(body)) + line)
                    digest.update(body)
                    count += 1
                    yield from_json(line, body)
        except (ValueError, TypeError, AttributeError, OSError, self._arrow.ArrowException):
            raise ArchiveFault(f"{self._path}, message {count + 1}: damaged") from None
        if not fits(self._end, count, digest.hexdigest()):
            raise ArchiveFault(f"{self._path}: its end tells of other messages: it was changed")
        self.is_whole = True


def _readable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode()


def _parked_at(record: Record) -> str | None:
    time = parked_time(record.properties.headers)
    return None if time is None else time.isoformat()
