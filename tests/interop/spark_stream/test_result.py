"""The files that a sink's log names."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from interop.spark_stream.result import ids, newest_batch, rows


def write(folder: Path, name: str, *message_ids: str) -> str:
    pq.write_table(pa.table({"message_id": list(message_ids)}), folder / name)
    return json.dumps({"path": (folder / name).as_uri(), "size": 1, "action": "add"})


def test_files_that_the_log_does_not_name_do_not_count(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    assert (newest_batch(tmp_path), rows(tmp_path), ids(tmp_path)) == (-1, 0, {})
    (log / "0").write_text("v1\n" + write(tmp_path, "a b.parquet", "m0", "m1"))
    (log / "10").write_text("v1\n" + write(tmp_path, "b.parquet", "m1"))
    (log / ".11.tmp").write_text("torn")
    write(tmp_path, "of an attempt that lost.parquet", "m2")
    assert (newest_batch(tmp_path), rows(tmp_path)) == (10, 3)
    assert ids(tmp_path) == {"m0": [0], "m1": [0, 10]}
