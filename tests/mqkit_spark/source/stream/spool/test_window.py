"""The fingerprints of the newest messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mqkit_spark.source.stream.spool import window
from mqkit_spark.source.stream.spool.data_file import FINGERPRINTS


def marks(*numbers: int) -> Any:
    return pa.array([number.to_bytes(16) for number in numbers], FINGERPRINTS)


def known(own: Any, folder: Path, size: int, *newest: Any) -> set[int]:
    found = window.known(own, newest, folder, size)
    return {int.from_bytes(each) for each in found.to_pylist()}


def test_what_was_seen_is_known(tmp_path: Path) -> None:
    window.add(tmp_path, 1, [marks(1, 2), marks(3)], 100)
    window.add(tmp_path, 2, [marks(4)], 100)
    assert known(marks(3, 4, 5, 6), tmp_path, 100, marks(6)) == {3, 4, 6}
    assert known(marks(5), tmp_path, 100) == set()
    assert known(marks(), tmp_path, 100, marks(1)) == set()


def test_parts_of_arrays_are_written_as_they_are(tmp_path: Path) -> None:
    """As of a batch of rows, without those that have no fingerprint."""
    some = pa.array([None, *marks(1, 2, 3).to_pylist()], FINGERPRINTS)
    window.add(tmp_path, 1, [some.drop_null(), marks(*range(10))[7:9], marks()], 100)
    assert known(marks(*range(10)), tmp_path, 100) == {1, 2, 3, 7, 8}
    assert known(marks(*range(10)), tmp_path, 1) == {8}


def test_nothing_is_known_without_a_window(tmp_path: Path) -> None:
    window.add(tmp_path, 1, [marks(1)], 0)
    assert known(marks(1), tmp_path, 0, marks(1)) == set()
    assert list(tmp_path.iterdir()) == []


def test_the_newest_count_and_the_oldest_are_forgotten(tmp_path: Path) -> None:
    window.add(tmp_path, 1, [marks(*range(10))], 10)
    assert known(marks(*range(10)), tmp_path, 4) == {6, 7, 8, 9}
    assert known(marks(*range(10)), tmp_path, 4, marks(100, 101, 102)) == {9}
    assert known(marks(*range(10)), tmp_path, 4, marks(*range(100, 104))) == set()


def test_a_batch_that_is_settled_twice_counts_once(tmp_path: Path) -> None:
    window.add(tmp_path, 1, [marks(1, 2)], 100)
    window.add(tmp_path, 1, [marks(1, 2)], 100)
    assert known(marks(1, 2), tmp_path, 3) == {1, 2}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 32


def test_small_files_are_put_together_and_old_ones_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "TOGETHER_OCTETS", 16 * 4)
    for batch in range(1, 41):
        window.add(tmp_path, batch, [marks(batch)], 10)
    assert len(list(tmp_path.iterdir())) <= 4
    assert known(marks(*range(41)), tmp_path, 10) == set(range(31, 41))
