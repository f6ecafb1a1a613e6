"""Spark's side of a batch read: one partition, read by one task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, InputPartition

from mqkit.errors import MqkitError
from mqkit_spark.columns.deliveries import record_batch
from mqkit_spark.connecting import connect_exact
from mqkit_spark.options import AckMode, BatchReadOptions
from mqkit_spark.source.batch.queue import check, windows

if TYPE_CHECKING:
    import pyarrow

CONNECTION_NAME = "mqkit-spark-read"


class ReadFailed(MqkitError):
    """A read can't give what it promised."""


class AmqpReader(DataSourceReader):
    """Reads a queue. Pickled to the task; each evaluation of the plan reads again."""

    def __init__(self, options: BatchReadOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        """One: tasks that read one queue side by side would share its order and the bound. Raises
        where the broker or the queue can't be reached, before there is a task."""
        connection = connect_exact(self.options, name=CONNECTION_NAME)
        try:
            check(connection.channel(), self.options.queue)
        finally:
            connection.close()
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """The messages as rows, in the queue's order, in a task."""
        options = self.options
        context = TaskContext.get()
        if options.ack_mode is AckMode.ON_READ and context and context.attemptNumber() > 0:
            raise ReadFailed(
                f"an earlier attempt of this task has read queue {options.queue!r}, and"
                " ackMode=onRead gives nothing back: some of its messages may be lost; use"
                " ackMode=peek, or the stream source"
            )
        connection = connect_exact(options, name=CONNECTION_NAME)
        try:
            with closing(windows(connection.channel(), options)) as found:
                for window in found:
                    yield record_batch(window, options.headers_format)
        finally:
            connection.close()
