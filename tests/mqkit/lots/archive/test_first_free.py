"""An archive at the first path that nobody has taken."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.first_free import FirstFree
from mqkit.lots.archive.formats import Origin, reader
from mqkit.lots.archive.record import Record
from mqkit.transport.native.exact import from_octets

ORIGIN = Origin("q.parked", "/", datetime(2025, 1, 2, tzinfo=UTC))


def records(*bodies: bytes) -> list[Record]:
    return [Record("e", "k", body, from_octets(b"\0\0")) for body in bodies]


def named(folder: Path, *names: str) -> FirstFree:
    return FirstFree(iter([folder / f"{name}.jsonl.gz" for name in names]), ORIGIN)


def test_what_is_kept_is_safe_at_once_and_whole_at_the_end(tmp_path: Path) -> None:
    file = named(tmp_path, "a")
    assert (file.is_begun, file.path, list(tmp_path.iterdir())) == (False, None, [])
    assert [file.keep(records(b"1", b"2")), file.keep(records(b"3"))] == [2, 3]
    with reader(tmp_path / "a.jsonl.gz.part") as part:
        assert [each.body for each in part.records()] == [b"1", b"2", b"3"]
    file.complete()
    assert (file.is_begun, file.path) == (True, tmp_path / "a.jsonl.gz")
    assert file.abandon() is None
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl.gz"]


@pytest.mark.parametrize("taken", ["a.jsonl.gz", "a.jsonl.gz.part"])
def test_a_name_that_is_taken_is_left_to_its_owner(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_bytes(b"precious")
    file = named(tmp_path, "a", "b")
    file.keep(records(b"1"))
    assert file.path == tmp_path / "b.jsonl.gz"
    assert (tmp_path / taken).read_bytes() == b"precious"
    file.abandon()
    with pytest.raises(ArchiveFault, match="no archive is ever replaced"):
        named(tmp_path, "a").keep(records(b"1"))


def test_an_early_end_leaves_a_part(tmp_path: Path) -> None:
    file = named(tmp_path, "a")
    assert file.abandon() is None
    file.keep(records(b"1"))
    assert file.abandon() == tmp_path / "a.jsonl.gz.part"
    assert file.abandon() is None


def test_a_folder_that_is_none_is_no_reason_to_try_the_next_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    places = iter([tmp_path / "file" / "a.jsonl.gz", tmp_path / "b.jsonl.gz"])
    with pytest.raises(ArchiveFault, match="is no folder"):
        FirstFree(places, ORIGIN).keep(records(b"1"))
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_no_place_at_all(tmp_path: Path) -> None:
    with pytest.raises(ArchiveFault, match="no place"):
        named(tmp_path).keep(records(b"1"))
