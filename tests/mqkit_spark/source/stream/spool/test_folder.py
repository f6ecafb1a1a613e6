"""The spool folder, as the driver's process has it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mqkit_spark.columns.deliveries import record_batch
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.source.stream.offset import START, Offset
from mqkit_spark.source.stream.spool.batch_folder import BatchFolder
from mqkit_spark.source.stream.spool.counts import Counts
from mqkit_spark.source.stream.spool.data_file import FINGERPRINTS, DataFileWriter
from mqkit_spark.source.stream.spool.faults import SpoolError
from mqkit_spark.source.stream.spool.fingerprint import fingerprints
from mqkit_spark.source.stream.spool.folder import SpoolFolder


def fill(batch: BatchFolder, partition: int, *messages: Any) -> None:
    writer = DataFileWriter(batch.data(partition), HeadersFormat.MAP)
    ids = [each.message_id and each.message_id.encode() for each in messages]
    marks = fingerprints(ids, [each.body for each in messages])
    rows = record_batch(messages, HeadersFormat.MAP)
    writer.add(rows, pa.array(marks, FINGERPRINTS))
    writer.close()


def begun(folder: SpoolFolder, number: int = 1) -> Offset:
    offset = START.next(number, 10, 2)
    folder.begin(offset)
    return offset


def seen_octets(folder: SpoolFolder) -> int:
    return sum(path.stat().st_size for path in folder.layout.seen.iterdir())


def test_a_second_owner_is_refused_until_the_first_lets_go(owned: Any) -> None:
    first = owned()
    with pytest.raises(SpoolError, match="in use by another query"):
        owned()
    first.release()
    owned()


def test_a_batch_stands_until_it_is_settled(owned: Any, message: Any) -> None:
    folder = owned()
    offset = begun(folder)
    batch = folder.batch(offset)
    assert [(each.offset, each.is_taken) for each in folder.standing()] == [(offset, False)]
    fill(batch, 0, message("a"), message(None))
    fill(batch, 1, message("b"))
    batch.write_counts(1, Counts(rows=1, body_bytes=4, dropped=3))
    assert [each.is_taken for each in folder.standing()] == [True]
    counts = Counts(rows=3, without_id=1, body_bytes=12, dropped=3)
    assert folder.settle(offset) == counts
    assert (folder.standing(), batch.is_there(), batch.path.exists()) == ([], False, False)
    history = folder.history()
    assert (history.last, history.counts) == (offset, counts)
    assert seen_octets(folder) == 32
    assert list(folder.layout.over.iterdir()) == []


def test_a_settling_that_was_broken_off_is_done_again_and_counts_once(
    owned: Any, message: Any, tmp_path: Path
) -> None:
    folder = owned()
    offset = begun(folder)
    fill(folder.batch(offset), 0, message("a"))
    kept = tmp_path / "kept"
    shutil.copytree(folder.batch(offset).path, kept)
    folder.settle(offset)
    kept.rename(folder.batch(offset).path)
    folder.settle(offset)
    assert folder.history().counts.rows == 1
    assert seen_octets(folder) == 16
    assert folder.standing() == []


def test_what_a_process_left_half_made_is_swept_away(owned: Any) -> None:
    folder = owned()
    offset = begun(folder)
    layout = folder.layout
    (layout.batches / ".making-000000000002-0000000000000000").mkdir()
    (layout.over / "000000000000-old").mkdir()
    (layout.seen / ".half").write_bytes(b"")
    folder.release()
    again = owned()
    assert [each.offset for each in again.standing()] == [offset]
    left = [*layout.over.iterdir(), *layout.seen.iterdir(), *layout.batches.glob(".*")]
    assert left == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"format": 1, "queue": "other"}, "is the spool of queue 'other', not 'orders'"),
        ({"format": 2, "queue": "orders"}, "another version of mqkit"),
    ],
)
def test_the_spool_of_another_queue_or_version_is_refused(
    owned: Any, tmp_path: Path, content: dict[str, Any], words: str
) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "spool.json").write_text(json.dumps(content))
    with pytest.raises(SpoolError, match=words):
        owned()


def test_a_folder_with_other_files_is_refused_and_left_alone(owned: Any, tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "data.csv").write_text("1,2")
    with pytest.raises(SpoolError, match="holds other files"):
        owned()
    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["data.csv"]


def test_a_place_that_can_not_be_a_folder_is_said_in_one_line(owned: Any, tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file")
    with pytest.raises(SpoolError, match=r"spoolLocation .*: file exists") as error:
        owned()
    assert "\n" not in str(error.value)


def test_a_batch_folder_of_somebody_else_is_refused(owned: Any) -> None:
    folder = owned()
    (folder.layout.batches / "mine").mkdir()
    with pytest.raises(SpoolError, match="can't be read"):
        folder.standing()
