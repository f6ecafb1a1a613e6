"""The driver program of streams: two queries over one folder of text files, one through
``format("amqp")`` and one through ``foreachBatch``. They run until the program is killed, or, for a
line on standard input, until all files are through; then it answers with the ids of the queries."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mqkit_spark
from interop.spark_sink.plan import Ids, Way
from interop.spark_sink.session import LOCAL, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BYTES_OF_PARTITION = 128 * 1024
"""A file of half a MiB is a batch of some partitions."""


def main() -> None:
    folder, url, plan = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    spark = session(LOCAL)
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(BYTES_OF_PARTITION))
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    queries = {way: _start(spark, folder, url, way, job) for way, job in plan.items()}
    print(json.dumps({"ready": True}), flush=True)
    if not sys.stdin.readline():
        return
    for query in queries.values():
        query.processAllAvailable()
    print(json.dumps({way: query.id for way, query in queries.items()}), flush=True)
    for query in queries.values():
        query.stop()
    spark.stop()


def _start(
    spark: SparkSession, folder: Path, url: str, way: str, job: dict[str, Any]
) -> StreamingQuery:
    options = {
        "exchange": job["exchange"],
        "report_path": str(folder / f"{way}.jsonl"),
        "dedup": job["window"],
        "deterministic": job["window"],
    }
    writer = _rows(spark, folder, job["ids"]).writeStream.option(
        "checkpointLocation", str(folder / f"{way}.checkpoint")
    )
    if way == Way.PUBLISH:
        publish_batch = mqkit_spark.batch_publisher(url, **options)
        return writer.foreachBatch(publish_batch).start()
    return (
        writer.format("amqp")
        .options(
            url=url,
            exchange=options["exchange"],
            reportPath=options["report_path"],
            dedup=options["dedup"],
            deterministic=options["deterministic"],
        )
        .start()
    )


def _rows(spark: SparkSession, folder: Path, ids: str) -> DataFrame:
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "files"))
    key = ["concat('key-', split(value, '[ .]')[1]) as message_id"] if ids == Ids.COLUMN else []
    return lines.selectExpr("value as body", *key)


if __name__ == "__main__":
    main()
