"""One Spark task: Arrow batches in, confirmed messages out, a report back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from mqkit.message import Message
from mqkit_spark.collector import rare_collections
from mqkit_spark.columns.plain_rows import plain_messages
from mqkit_spark.columns.rows import BadRow, RowReader
from mqkit_spark.columns.schema import Columns
from mqkit_spark.columns.values import values_of
from mqkit_spark.options import OnBadRow, SinkOptions
from mqkit_spark.pool import borrowed
from mqkit_spark.sink.job import Job
from mqkit_spark.sink.partition_sink import PartitionSink
from mqkit_spark.sink.report import PublishFailed, TaskReport


def run(batches: Iterator[Any], options: SinkOptions, columns: Columns, job: Job) -> TaskReport:
    """Publish what Spark gives to the task that calls this; see :func:`publish_batches`."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise PublishFailed("the amqp sink publishes inside Spark tasks only")
    return publish_batches(
        batches,
        options,
        columns,
        job_id=job.id_in(context),
        partition=context.partitionId(),
        attempt=context.attemptNumber(),
    )


def publish_batches(
    batches: Iterator[Any],
    options: SinkOptions,
    columns: Columns,
    *,
    job_id: str,
    partition: int,
    attempt: int,
) -> TaskReport:
    """Publish the rows of one partition, given as ``pyarrow.RecordBatch``.

    Returns when every row is confirmed, or dropped or dead-lettered because an option says so.
    Raises :exc:`~mqkit_spark.sink.report.PublishFailed` at the first row that is neither; Spark
    runs the task again then. A partition without rows opens no connection.
    """
    began = time.monotonic()
    reader = RowReader(options, columns, job_id, partition)
    rows = bad_rows = 0
    first_id = last_id = None
    with rare_collections(), PartitionSink(options, borrowed, partition=partition) as sink:
        for batch in batches:
            columns_of_batch = [values_of(column) for column in batch.columns]
            numbers: Sequence[int] = range(rows, rows + batch.num_rows)
            bad: list[BadRow] = []
            messages = plain_messages(reader, columns_of_batch, rows)
            if messages is None:
                messages = []
                for item in reader.read(columns_of_batch, rows):
                    if isinstance(item, Message):
                        messages.append(item)
                    else:
                        bad.append(item)
                        _treat(item, options, sink, partition)
            if bad:
                gone = {each.row for each in bad}
                numbers = [number for number in numbers if number not in gone]
            rows += batch.num_rows
            bad_rows += len(bad)
            if messages:
                first_id = first_id or messages[0].properties.message_id
                last_id = messages[-1].properties.message_id
            sink.send(messages, numbers)
        sink.finish()
    counts = sink.counts
    return TaskReport(
        partition=partition,
        attempt=attempt,
        job_id=job_id,
        rows=rows,
        confirmed=counts.confirmed,
        unroutable=counts.unroutable,
        bad_rows=bad_rows,
        dead_lettered=counts.dead_lettered,
        resent=counts.resent,
        body_bytes=counts.body_bytes,
        seconds=time.monotonic() - began,
        blocked_seconds=counts.blocked_seconds,
        first_id=first_id,
        last_id=last_id,
    )


def _treat(bad: BadRow, options: SinkOptions, sink: PartitionSink, partition: int) -> None:
    match options.on_bad_row:
        case OnBadRow.FAIL:
            raise PublishFailed(
                f"row {bad.row} of partition {partition} can't be a message: {bad.why};"
                " correct it, or set onBadRow to drop or deadletter"
            )
        case OnBadRow.DEADLETTER:
            sink.bury(bad.remains, bad.row, f"bad row: {bad.why}")
        case OnBadRow.DROP:
            pass
