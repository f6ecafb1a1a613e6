"""mqkit_bench.spark.rows: every row once, in turn over the partitions, in the file's order."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqkit_bench.spark.rows import NUMBER, PARTITIONS, prepare


@pytest.mark.parametrize(("wanted", "count"), [(7, 7), (100, 11)])
def test_the_first_rows_are_laid_out_in_turn(tmp_path: Path, wanted: int, count: int) -> None:
    source = tmp_path / "source.parquet"
    pq.write_table(pa.table({"delay": list(range(50, 61))}), source, row_group_size=3)
    rows = prepare(source, tmp_path / "rows", wanted)
    assert rows.count == count
    for part in range(PARTITIONS):
        table = pq.read_table(tmp_path / "rows" / f"{part}.parquet")
        numbers = list(range(part, count, PARTITIONS))
        assert table.to_pydict() == {"delay": [50 + n for n in numbers], NUMBER: numbers}
