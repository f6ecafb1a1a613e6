"""A partition's rows in a file: Arrow's file format, with the source's columns and the fingerprint
of each message. Its end has a directory of its batches, so a torn file can't be opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from mqkit_spark.columns.deliveries import arrow_schema
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.source.stream.spool.counts import Counts, total
from mqkit_spark.source.stream.spool.faults import SpoolError
from mqkit_spark.source.stream.spool.fingerprint import FINGERPRINT_OCTETS

if TYPE_CHECKING:
    import pyarrow

FINGERPRINT_COLUMN = "fingerprint"
FINGERPRINTS = pa.binary(FINGERPRINT_OCTETS)


class DataFileWriter:
    """Rows on their way into a file. Call :meth:`close`; before that, the file is torn."""

    def __init__(self, path: Path, headers: HeadersFormat) -> None:
        self._headers = headers
        self._file = path.open("xb")
        self._writer = pa.ipc.new_file(self._file, file_schema(headers))

    def add(self, rows: pyarrow.RecordBatch, fingerprints: pyarrow.Array) -> None:
        """Write rows that have the source's columns."""
        columns = [*rows.columns, fingerprints]
        self.add_batch(pa.record_batch(columns, schema=file_schema(self._headers)))

    def add_batch(self, batch: pyarrow.RecordBatch) -> None:
        """Write rows that have their fingerprints."""
        if batch.num_rows:
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Return when the file is whole, and on the disk."""
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Let go of a file that will not be used. Idempotent, and does nothing once closed."""
        self._file.close()


def file_schema(headers: HeadersFormat) -> pyarrow.Schema:
    """The columns of a file."""
    return arrow_schema(headers).append(pa.field(FINGERPRINT_COLUMN, FINGERPRINTS))


def rows_of(path: Path, headers: HeadersFormat) -> Iterator[pyarrow.RecordBatch]:
    """The rows, without their fingerprints. The file is mapped, not read into memory.

    Raises :exc:`SpoolError` where the file was written with other columns.
    """
    wanted = arrow_schema(headers)
    for batch in batches_of(path):
        rows = batch.select(wanted.names) if batch.num_columns > len(wanted) else batch
        if rows.schema != wanted:
            raise SpoolError(
                f"{path} was written with another headersFormat: end the batch with the old one"
            )
        yield rows


def batches_of(path: Path) -> Iterator[pyarrow.RecordBatch]:
    """The batches of rows. Of the file only what is looked at is read. (To name some columns to the
    reader costs thirty times as much as to look at them: it copies.)"""
    with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as reader:
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)


def fingerprints_of(path: Path) -> list[pyarrow.Array]:
    """The fingerprints of the rows, without those that have none."""
    return [batch.column(FINGERPRINT_COLUMN).drop_null() for batch in batches_of(path)]


def counts_of(path: Path) -> Counts:
    """The counts that the rows themselves tell."""
    return total(
        Counts(
            rows=batch.num_rows,
            without_id=batch.column(FINGERPRINT_COLUMN).null_count,
            body_bytes=pc.sum(pc.binary_length(batch.column("body"))).as_py() or 0,
        )
        for batch in batches_of(path)
    )


def copy_without(path: Path, to: Path, headers: HeadersFormat, known: pyarrow.Array) -> None:
    """Write a file with the rows whose fingerprints are not among ``known``."""
    writer = DataFileWriter(to, headers)
    try:
        for batch in batches_of(path):
            again = pc.is_in(batch.column(FINGERPRINT_COLUMN), value_set=known, skip_nulls=True)
            writer.add_batch(batch.filter(pc.invert(again)))
        writer.close()
    finally:
        writer.abandon()
