"""Archives as gzipped lines: tears, and the promise that what is synced can be read."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.formats import Origin, reader, writer
from mqkit.lots.archive.record import Record
from mqkit.transport.native.exact import from_octets

ORIGIN = Origin("q.parked", "/", datetime(2025, 1, 2, tzinfo=UTC))


def record(number: int) -> Record:
    return Record("e", "k", b"%d" % number, from_octets(b"\0\0"))


def read(path: Path) -> tuple[list[bytes], bool]:
    with reader(path) as archive:
        return [each.body for each in archive.records()], archive.is_whole


def test_what_is_synced_can_be_read_whatever_comes_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "lot.jsonl.gz"
    archive = writer(path, ORIGIN)
    archive.write([record(0), record(1)])
    assert archive.sync() == 2
    part = Path(f"{path}.part")
    for noise in (b"", b"\x1f\x8b", b"\0" * 50, b"noise" * 20, gzip.compress(b"{")):
        before = part.read_bytes()
        part.write_bytes(before + noise)
        assert read(part) == ([b"0", b"1"], False)
        part.write_bytes(before)
    archive.write([record(2)])
    assert archive.sync() == 3
    archive.complete()
    assert read(path) == ([b"0", b"1", b"2"], True)


def test_others_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "lot.jsonl.gz"
    archive = writer(path, ORIGIN)
    archive.write([record(0)])
    archive.write([record(1)])
    archive.complete()
    text = subprocess.run(["gzip", "-dc", path], capture_output=True, check=True).stdout
    first, *lines, last = text.splitlines(keepends=True)
    assert json.loads(first) == {
        "archive": "mqkit lot",
        "version": 1,
        "lot": "q.parked",
        "vhost": "/",
        "begun": "2025-01-02T00:00:00+00:00",
    }
    assert [json.loads(line)["body"] for line in lines] == ["0", "1"]
    digest = hashlib.sha256(b"".join((first, *lines))).hexdigest()
    assert json.loads(last) == {"end": True, "messages": 2, "sha256": digest}


def test_every_octet_that_is_turned_over_is_known(tmp_path: Path) -> None:
    """But for those that say nothing of a message: the time and the system in gzip's own header,
    and the last 10, with which gzip checks the end line, whose digest has fitted by then."""
    path = tmp_path / "lot.jsonl.gz"
    archive = writer(path, ORIGIN)
    archive.write([record(0)])
    archive.complete()
    octets = path.read_bytes()
    missed = []
    for at in range(len(octets)):
        path.write_bytes(octets[:at] + bytes([octets[at] ^ 0x10]) + octets[at + 1 :])
        try:
            bodies, is_whole = read(path)
        except ArchiveFault:
            continue
        if is_whole:
            assert bodies == [b"0"]
            missed.append(at)
    assert len(missed) <= 2 * 6 + 10


def test_a_name_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(ArchiveFault, match="name ends in"):
        writer(tmp_path / "lot.json", ORIGIN)
