"""A partition's rows in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mqkit_spark.columns.deliveries import arrow_schema, record_batch
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.source.stream.spool.counts import Counts
from mqkit_spark.source.stream.spool.data_file import (
    FINGERPRINTS,
    DataFileWriter,
    copy_without,
    counts_of,
    fingerprints_of,
    rows_of,
)
from mqkit_spark.source.stream.spool.faults import SpoolError
from mqkit_spark.source.stream.spool.fingerprint import fingerprints

MAP = HeadersFormat.MAP


def written(path: Path, *batches: list[Any]) -> Path:
    writer = DataFileWriter(path, MAP)
    for batch in batches:
        ids = [each.message_id and each.message_id.encode() for each in batch]
        marks = fingerprints(ids, [each.body for each in batch])
        writer.add(record_batch(batch, MAP), pa.array(marks, FINGERPRINTS))
    writer.close()
    return path


def bodies(path: Path) -> list[bytes]:
    return [body for batch in rows_of(path, MAP) for body in batch.column("body").to_pylist()]


def test_rows_come_back_in_the_sources_columns(tmp_path: Path, message: Any) -> None:
    path = written(tmp_path / "f", [message("a", b"1"), message(None, b"2")], [message("b", b"3")])
    assert bodies(path) == [b"1", b"2", b"3"]
    assert all(batch.schema == arrow_schema(MAP) for batch in rows_of(path, MAP))
    assert counts_of(path) == Counts(rows=3, without_id=1, body_bytes=3)
    assert [len(marks) for marks in fingerprints_of(path)] == [1, 1]


def test_an_empty_share_is_a_file_too(tmp_path: Path) -> None:
    path = written(tmp_path / "f", [])
    assert (bodies(path), counts_of(path), fingerprints_of(path)) == ([], Counts(), [])


def test_a_copy_is_without_what_is_known(tmp_path: Path, message: Any) -> None:
    messages = [message("a", b"1"), message(None, b"2"), message("b", b"3")]
    path = written(tmp_path / "f", messages)
    known = pa.array(fingerprints([b"b"], [b"3"]), FINGERPRINTS)
    copy_without(path, tmp_path / "copy", MAP, known)
    assert bodies(tmp_path / "copy") == [b"1", b"2"]


def test_a_torn_file_can_not_be_opened(tmp_path: Path, message: Any) -> None:
    path = written(tmp_path / "f", [message("a", b"x" * 1000)])
    octets = path.read_bytes()
    for length in (0, 10, len(octets) // 2, len(octets) - 1):
        path.write_bytes(octets[:length])
        with pytest.raises(pa.ArrowInvalid):
            bodies(path)


def test_another_format_of_headers_is_said(tmp_path: Path, message: Any) -> None:
    path = written(tmp_path / "f", [message("a")])
    with pytest.raises(SpoolError, match="another headersFormat"):
        list(rows_of(path, HeadersFormat.JSON))
