"""One Spark task: Arrow batches in, confirmed messages out, a report back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from mqkit.message import Message
from mqkit_spark.columns.rows import BadRow, RowReader
from mqkit_spark.columns.schema import Columns
from mqkit_spark.columns.values import values_of
from mqkit_spark.options import OnBadRow, SinkOptions
from mqkit_spark.pool import borrowed
from mqkit_spark.sink.partition_sink import PartitionSink
from mqkit_spark.sink.report import PublishFailed, TaskReport


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

    Returns when every row is confirmed, or dropped because an option says so. Raises
    :exc:`~mqkit_spark.sink.report.PublishFailed` at the first row that is neither; Spark runs the
    task again then. A partition without rows opens no connection.
    """
    began = time.monotonic()
    reader = RowReader(options, columns, job_id, partition)
    rows = bad_rows = 0
    first_id = last_id = None
    with PartitionSink(options, borrowed) as sink:
        for batch in batches:
            messages: list[Message] = []
            for item in reader.read([values_of(column) for column in batch.columns], rows):
                if isinstance(item, Message):
                    messages.append(item)
                elif options.on_bad_row is OnBadRow.FAIL:
                    raise PublishFailed(_bad_row_words(item, partition))
                else:
                    bad_rows += 1
            rows += batch.num_rows
            if messages:
                first_id = first_id or messages[0].properties.message_id
                last_id = messages[-1].properties.message_id
                sink.send(messages)
        sink.finish()
    counts = sink.counts
    return TaskReport(
        partition=partition,
        attempt=attempt,
        rows=rows,
        confirmed=counts.confirmed,
        unroutable=counts.unroutable,
        bad_rows=bad_rows,
        resent=counts.resent,
        body_bytes=counts.body_bytes,
        seconds=time.monotonic() - began,
        blocked_seconds=counts.blocked_seconds,
        first_id=first_id,
        last_id=last_id,
    )


def _bad_row_words(bad: BadRow, partition: int) -> str:
    return (
        f"row {bad.row} of partition {partition} can't be a message: {bad.why};"
        " correct it, or set onBadRow to drop"
    )
