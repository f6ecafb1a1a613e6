"""The plays of the source: the queue's messages into Spark."""

from __future__ import annotations

import time
from functools import partial

from mqkit_bench.spark import by_pika
from mqkit_bench.spark.stage import QUEUE, Stage

SHARE_MESSAGES = 50_000
"""A partition's part of ``maxOffsetsPerTrigger``: a batch is some seconds of work then."""


def mqkit_spool(stage: Stage, rows: int) -> tuple[float, float]:
    """The stream source, ``mode=spool``, with ``availableNow``; what becomes of the rows is
    ``noop``, so that only the way to them counts."""
    del rows  # it takes what is there
    with stage.scratch() as folder:
        started = time.perf_counter()
        query = (
            stage.spark.readStream.format("amqp")
            .option("url", stage.url)
            .option("queue", QUEUE)
            .option("mode", "spool")
            .option("spoolLocation", str(folder / "spool"))
            .option("maxOffsetsPerTrigger", SHARE_MESSAGES * stage.partitions)
            .option("minPartitions", stage.partitions)
            .load()
            .writeStream.format("noop")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return time.perf_counter() - started, 0.0


def pika_multiple_acks(stage: Stage, rows: int) -> tuple[float, float]:
    """``foreachPartition`` with ``basic_consume``: no row comes out of it, and a failed task loses
    or repeats; it is what is written by hand today."""
    shares = [(len(range(part, rows, stage.partitions)),) for part in range(stage.partitions)]
    parallel = stage.spark.sparkContext.parallelize(
        shares, stage.partitions
    )  # one share a partition
    frame = stage.spark.createDataFrame(parallel, "share int")
    started = time.perf_counter()
    frame.foreachPartition(partial(by_pika.consume, stage.url, QUEUE))
    return time.perf_counter() - started, 0.0
