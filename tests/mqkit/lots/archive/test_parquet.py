"""Archives as Parquet."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet
import pytest

from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.formats import Origin, reader, writer
from mqkit.lots.archive.record import Record
from mqkit.retry.headers import PARKED_AT
from mqkit.transport.native.exact import from_octets, octets_of
from mqkit.wire import Properties as WireProperties

ORIGIN = Origin("q.parked", "/", datetime(2025, 1, 2, tzinfo=UTC))


def records(number: int) -> list[Record]:
    wires = [
        WireProperties(message_id=f"m{each}", headers={PARKED_AT: "2025-01-02T03:04:05+00:00"})
        for each in range(number)
    ]
    return [Record("e", "k", b"\xff%d" % n, from_octets(octets_of(w))) for n, w in enumerate(wires)]


def written(path: Path, number: int) -> None:
    archive = writer(path, ORIGIN)
    for each in records(number):
        archive.write([each])
        assert archive.sync() == 0
    archive.complete()


def test_it_is_read_back_and_by_others(tmp_path: Path) -> None:
    path = tmp_path / "lot.parquet"
    written(path, 3)
    with reader(path) as archive:
        assert list(archive.records()) == records(3)
        assert (archive.origin, archive.is_whole) == (ORIGIN, True)
    table = pyarrow.parquet.read_table(path)
    assert table.column("message_id").to_pylist() == ["m0", "m1", "m2"]
    assert table.column("parked_at").to_pylist()[0] == "2025-01-02T03:04:05+00:00"
    assert table.column("body").to_pylist()[2] == b"\xff2"


def test_of_a_torn_file_nothing_is_in_the_file_only(tmp_path: Path) -> None:
    path = tmp_path / "lot.parquet"
    written(path, 3)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ArchiveFault, match="nothing of it has left its lot"), reader(path):
        pass


def test_a_parquet_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "lot.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), path)
    with pytest.raises(ArchiveFault, match="no archive of a lot"), reader(path):
        pass


def test_rows_that_were_changed(tmp_path: Path) -> None:
    path = tmp_path / "lot.parquet"
    written(path, 3)
    table = pyarrow.parquet.read_table(path)
    metadata = pyarrow.parquet.ParquetFile(path).metadata.metadata
    short = table.slice(0, 2).replace_schema_metadata(metadata)
    pyarrow.parquet.write_table(short, path)
    with reader(path) as archive, pytest.raises(ArchiveFault, match="it was changed"):
        list(archive.records())


def test_without_pyarrow_it_says_what_to_install(
    without: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    program = (
        "from datetime import datetime; from pathlib import Path\n"
        "from mqkit.lots.archive.fault import ArchiveFault\n"
        "from mqkit.lots.archive.formats import Origin, reader, writer\n"
        "path = Path('lot.parquet')\n"
        "for use in (lambda: writer(path, Origin('q', '/', datetime.now())),\n"
        "            lambda: reader(path).__enter__()):\n"
        "    try: use()\n"
        "    except ArchiveFault as fault: print(fault)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=without("pyarrow"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.count("pip install pyarrow") == 2
