"""Spark's side of a streaming write.

Spark makes one :class:`AmqpStreamWriter` for each batch, pickled to its tasks, and another for the
commit, in another process: nothing but the tasks' reports goes from one to the other. ``write`` is
told no batch; tasks know query and batch by their local properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from mqkit_spark.columns.schema import Columns
from mqkit_spark.options import SinkOptions
from mqkit_spark.sink import journal
from mqkit_spark.sink.job import StreamBatch
from mqkit_spark.sink.report import job_id_of, total
from mqkit_spark.sink.task import run
from mqkit_spark.sink.writer import TaskCommitted, reports_of, say_aborted

if TYPE_CHECKING:
    import pyarrow


class AmqpStreamWriter(DataSourceStreamArrowWriter):
    """Publishes each partition of a batch with confirms. A batch that Spark repeats, after a
    restart too, is published again under the same ids."""

    def __init__(self, options: SinkOptions, columns: Columns) -> None:
        self.options = options
        self.columns = columns

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> TaskCommitted:
        """Publish one partition of a batch, in a task."""
        return TaskCommitted(
            run(iterator, self.options, self.columns, StreamBatch(self.options.job_id))
        )

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks of the batch are done: raises
        :exc:`~mqkit_spark.sink.report.PublishFailed` unless all their rows are accounted for."""
        reports = reports_of(messages)
        report = total(job_id_of(reports, f"batch {batchId}"), reports)
        journal.write(report, self.options.report_path, batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """See :func:`~mqkit_spark.sink.writer.say_aborted`."""
        say_aborted(messages, f"batch {batchId}")
