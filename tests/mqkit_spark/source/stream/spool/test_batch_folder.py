"""The folder of one batch."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from mqkit_spark.source.stream.offset import START
from mqkit_spark.source.stream.spool.batch_folder import OFFSET_FILE, BatchFolder, standing
from mqkit_spark.source.stream.spool.counts import Counts
from mqkit_spark.source.stream.spool.faults import SpoolError


def folder(batches: Path, number: int = 1) -> BatchFolder:
    return BatchFolder(batches, START.next(number, 10, 3))


def test_it_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    batch = folder(tmp_path)
    assert not batch.is_there()
    batch.create()
    assert batch.is_there()
    assert json.loads((batch.path / OFFSET_FILE).read_bytes()) == batch.offset.to_json()
    with pytest.raises(OSError):
        batch.create()


def test_it_is_taken_with_the_first_file(tmp_path: Path) -> None:
    batch = folder(tmp_path)
    batch.create()
    batch.attempt(0).write_bytes(b"")
    assert (batch.is_taken(), batch.files()) == (False, {})
    batch.data(2).write_bytes(b"")
    assert (batch.is_taken(), batch.files()) == (True, {2: batch.data(2)})


def test_attempts_have_files_of_their_own(tmp_path: Path) -> None:
    batch = folder(tmp_path)
    assert batch.attempt(0) != batch.attempt(0)


def test_counts_that_were_not_written_or_are_torn_are_none(tmp_path: Path) -> None:
    batch = folder(tmp_path)
    batch.create()
    assert batch.counts(1) is None
    batch.write_counts(1, Counts(rows=3))
    assert batch.counts(1) == Counts(rows=3)
    (batch.path / "00001.json").write_bytes(b'{"ro')
    assert batch.counts(1) is None


def test_it_travels_to_tasks(tmp_path: Path) -> None:
    batch = folder(tmp_path)
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_those_that_stand_come_in_order(tmp_path: Path) -> None:
    batches = [folder(tmp_path, number) for number in (10, 2, 9)]
    for batch in batches:
        batch.create()
    assert [each.offset.batch for each in standing(tmp_path)] == [2, 9, 10]
    (batches[0].path / OFFSET_FILE).write_text("{}")
    with pytest.raises(SpoolError, match="can't be read"):
        standing(tmp_path)
