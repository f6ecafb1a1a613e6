"""Archives that mqkit has written, read by the checker: the same octets, and no fault passes."""

from __future__ import annotations

import gzip
import importlib.util
from datetime import UTC, datetime
from pathlib import Path

import pytest

from interop.archives.file import read
from interop.archives.messages import Messages
from mqkit.lots.archive.formats import Origin, writer
from mqkit.lots.archive.record import Record
from mqkit.transport.native.exact import from_octets

OF_A_SEED = Messages(3)
MESSAGES = [OF_A_SEED.message(number) for number in range(40)]
ORIGIN = Origin("email.parked", "/", datetime(2026, 11, 24, tzinfo=UTC))
SUFFIXES = [
    ".jsonl.gz",
    *([".parquet"] if importlib.util.find_spec("pyarrow") is not None else []),
]


def written(path: Path, *, complete: bool = True) -> Path:
    """In two windows."""
    archive = writer(path, ORIGIN)
    for part in (MESSAGES[:15], MESSAGES[15:]):
        archive.write([Record("", "q", one.body, from_octets(one.octets)) for one in part])
        archive.sync()
    if complete:
        archive.complete()
        return path
    left = archive.abandon()
    assert left is not None
    return left


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_octets(tmp_path: Path, suffix: str) -> None:
    found = list(read(written(tmp_path / f"a{suffix}")))
    assert found == [(one.octets, one.body) for one in MESSAGES]


def test_a_part_is_read_up_to_its_tear(tmp_path: Path) -> None:
    part = written(tmp_path / "a.jsonl.gz", complete=False)
    assert len(list(read(part))) == len(MESSAGES)
    part.write_bytes(part.read_bytes()[:-20])
    assert 15 <= len(list(read(part))) < len(MESSAGES)


@pytest.mark.parametrize("gone", [0, 7, -1])
def test_a_file_that_lacks_a_line_is_refused(tmp_path: Path, gone: int) -> None:
    path = written(tmp_path / "a.jsonl.gz")
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    del lines[gone]
    path.write_bytes(gzip.compress(b"".join(lines)))
    with pytest.raises(ValueError, match=r"a\.jsonl\.gz (ends with|has no)"):
        list(read(path))
