"""The rows of a run: those of a Parquet file, laid out once so that every contestant reads the same
rows in the same two partitions, as many as it has time for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 2
"""As many as ``local[2]`` has tasks at a time, and so the connections of every contestant."""
NUMBER = "bench_row_number"
BATCH_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Rows:
    """``count`` rows in a folder: a file for each partition, and in each row its number, which the
    partitions take in turn."""

    folder: Path
    count: int

    def frame(self, spark: SparkSession, count: int, partitions: int = PARTITIONS) -> DataFrame:
        """The first ``count`` rows as messages: the columns as JSON in ``body``. The JSON is made
        by Spark in each run, for every contestant alike."""
        table = spark.read.parquet(str(self.folder)).where(f"{NUMBER} < {count}").drop(NUMBER)
        return table.selectExpr("to_json(struct(*)) as body").coalesce(partitions)


def prepare(source: Path, folder: Path, count: int) -> Rows:
    """Lay out the first ``count`` rows of a Parquet file, or all that it has.

    Raises ``OSError`` or ``pyarrow.ArrowInvalid`` when ``source`` can't be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    done = 0
    with pq.ParquetFile(source) as file:
        schema = file.schema_arrow.append(pa.field(NUMBER, pa.int64()))
        writers = [
            pq.ParquetWriter(folder / f"{part}.parquet", schema) for part in range(PARTITIONS)
        ]
        try:
            for batch in file.iter_batches(BATCH_ROWS):
                batch = batch.slice(0, count - done)
                numbers = pa.array(range(done, done + batch.num_rows), pa.int64())
                numbered = pa.Table.from_batches([batch]).append_column(NUMBER, numbers)
                for part, writer in enumerate(writers):
                    own = range((part - done) % PARTITIONS, batch.num_rows, PARTITIONS)
                    writer.write_table(numbered.take(pa.array(own, pa.int64())).cast(schema))
                done += batch.num_rows
                if done >= count:
                    break
        finally:
            for writer in writers:
                writer.close()
    return Rows(folder, done)
