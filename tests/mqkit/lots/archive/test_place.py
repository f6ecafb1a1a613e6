"""Paths of archives, whatever a queue is called."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.file import PART
from mqkit.lots.archive.place import NAME_OCTETS_MAX, Place, escaped

NOW = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


def first(to: str, queue: str = "q.parked") -> str:
    return str(next(Place(to).paths(queue, NOW)))


def test_a_folder_a_file_and_a_pattern() -> None:
    assert first("lots") == "lots/q.parked-20250102T030405Z.jsonl.gz"
    assert first("x/lot.parquet") == "x/lot.parquet"
    assert first("lots/{queue}/{date}.jsonl.gz") == "lots/q.parked/2025-01-02.jsonl.gz"


def test_a_pattern_has_another_path_where_one_is_taken_and_a_file_has_not() -> None:
    found = islice(Place("{date}.jsonl.gz").paths("q", NOW), 3)
    assert [str(path) for path in found] == [
        "2025-01-02.jsonl.gz",
        "2025-01-02-2.jsonl.gz",
        "2025-01-02-3.jsonl.gz",
    ]
    assert len(list(Place("lot.jsonl.gz").paths("q", NOW))) == 1


@pytest.mark.parametrize("to", ["{nobody}/x.jsonl.gz", "{}.jsonl.gz", "{queue.x}.jsonl.gz"])
def test_a_pattern_of_other_names_is_refused(to: str) -> None:
    with pytest.raises(ArchiveFault, match=r"it may have \{queue\}, \{date\}, \{time\}"):
        first(to)


@pytest.mark.parametrize(
    "queue", ["../../etc/x", "/etc/passwd", "..", ".", "a/b", "a\0b", "{date}"]
)
def test_a_name_stays_in_its_folder(queue: str) -> None:
    path = Path(first("lots", queue))
    assert (path.parent, "\0" in str(path)) == (Path("lots"), False)
    nested = Path(first("lots/{queue}/x.jsonl.gz", queue))
    assert os.path.normpath(nested) == str(nested)
    assert nested.parts[0] == "lots"
    assert len(nested.parts) == 3


@given(st.text(max_size=300), st.text(max_size=300))
def test_different_queues_have_different_names_of_bounded_length(one: str, two: str) -> None:
    one, two = (text.encode("utf-8", "replace").decode() for text in (one, two))
    assert (escaped(one) == escaped(two)) is (one == two)
    assert len(escaped(one)) <= NAME_OCTETS_MAX


def test_the_longest_name_fits_a_folder() -> None:
    name = Path(first("lots", "ü" * 127)).name + PART
    assert len(name.encode()) <= 255
    assert escaped("ü" * 127) != escaped("ü" * 126 + "u")


def test_a_name_that_is_not_utf_8() -> None:
    assert escaped("\udcff") == "%FF"
