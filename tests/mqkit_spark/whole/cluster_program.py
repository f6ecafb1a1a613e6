"""Rows written, published and read by workers that have nothing but what the cluster has and the
archive. Run by test_cluster.py in a process of its own:

    cluster_program.py classic|connect ZIP URL QUEUE

Under ``classic`` the driver has no more than the workers. Its last line is JSON.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow
    from pyspark.sql import SparkSession

MISSING = ("aio_pika", "pika", "pydantic", "ruamel", "anyio", "httpx", "tenacity")


def modules_of_worker(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """One row: where mqkit comes from, and what of the client's requirements is there."""
    from importlib.metadata import version
    from importlib.util import find_spec

    import pyarrow

    import mqkit

    for _ in batches:
        there = [name for name in MISSING if find_spec(name) is not None]
        row = {"file": [mqkit.__file__], "version": [version("mqkit")], "there": [there]}
        yield pyarrow.RecordBatch.from_pydict(row)


def main(kind: str, archive: str, url: str, queue: str) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    if kind == "connect":
        spark = builder.remote("local[2]").getOrCreate()
        spark.addArtifacts(archive, pyfile=True)
    else:
        spark = builder.master("local[2]").getOrCreate()
        spark.sparkContext.addPyFile(archive)

    import mqkit_spark

    mqkit_spark.register(spark)
    rows = spark.range(0, 100, 1, 2).selectExpr(
        "cast(id as string) as body", "named_struct('n', id) as headers"
    )
    writer = rows.write.format("amqp").mode("append")
    writer.options(url=url, routingKey=queue).save()
    report = mqkit_spark.publish(rows, url, routing_key=queue)

    reader = spark.read.format("amqp").options(url=url, queue=queue, headersFormat="json")
    bodies = [int(row["body"]) for row in reader.load().collect()]
    taken = reader.options(ackMode="onRead", maxMessages=150).load().select("headers").collect()
    schema = "file string, version string, there array<string>"
    (worker,) = spark.range(1).mapInArrow(modules_of_worker, schema).collect()
    faulty: tuple[dict[str, str], ...] = (
        {},
        {"queue": "no-such-queue"},
        {"queue": queue, "ackMode": "x"},
    )
    found = {
        "confirmed": report.confirmed,
        "bodies": sorted(bodies),
        "headers": sorted({row["headers"] for row in taken}),
        "left": reader.options(ackMode="peek", maxMessages=1000).load().count(),
        "worker": worker.asDict(),
        "errors": [error_of_load(spark, url, options) for options in faulty],
    }
    spark.stop()
    print(json.dumps(found))


def error_of_load(spark: SparkSession, url: str, options: dict[str, str]) -> str:
    try:
        spark.read.format("amqp").options(url=url, **options).load().collect()
    except Exception as error:  # noqa: BLE001 - its words are what is looked at
        return str(error)
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
