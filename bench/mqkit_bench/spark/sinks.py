"""The plays of the sink: rows into the queue."""

from __future__ import annotations

import time
from functools import partial
from uuid import uuid4

from mqkit_bench.spark import by_pika
from mqkit_bench.spark.stage import QUEUE, Stage
from mqkit_bench.spark.writers import write_all


def mqkit(stage: Stage, rows: int) -> tuple[float, float]:
    """``df.write.format("amqp")``: every row confirmed."""
    frame = stage.rows.frame(stage.spark, rows, stage.partitions)
    started = time.perf_counter()
    frame.write.format("amqp").mode("append").option("url", stage.url).option(
        "routingKey", QUEUE
    ).save()
    return time.perf_counter() - started, 0.0


def pika_confirmed(stage: Stage, rows: int) -> tuple[float, float]:
    """``foreachPartition`` that waits for each confirm: pika has no other way."""
    return _by_pika(stage, rows, confirms=True)


def pika_unconfirmed(stage: Stage, rows: int) -> tuple[float, float]:
    """``foreachPartition`` without confirms."""
    return _by_pika(stage, rows, confirms=False)


def raw_sockets(stage: Stage, rows: int) -> tuple[float, float]:
    """The same rows, encoded beforehand, with confirms."""
    return write_all(stage.broker.address, stage.frames, rows)


def _by_pika(stage: Stage, rows: int, *, confirms: bool) -> tuple[float, float]:
    frame = stage.rows.frame(stage.spark, rows, stage.partitions)
    publish = partial(by_pika.publish, stage.url, QUEUE, str(uuid4()), confirms)
    started = time.perf_counter()
    frame.foreachPartition(publish)
    return time.perf_counter() - started, 0.0
