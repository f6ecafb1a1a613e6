"""Spark's side of a batch write: one :class:`AmqpWriter` per job, pickled to every task.

Spark makes it once, in a process of its own, and pickles the same one into every task, every
attempt and the commit: so an id made in the constructor names the job everywhere.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from mqkit_spark.columns.schema import Columns
from mqkit_spark.options import SinkOptions
from mqkit_spark.sink.report import PublishFailed, TaskReport, total
from mqkit_spark.sink.task import publish_batches

if TYPE_CHECKING:
    import pyarrow

LOGGER = logging.getLogger("mqkit.spark")


@dataclass
class TaskCommitted(WriterCommitMessage):
    """A task's report on its way to the commit."""

    report: TaskReport


class AmqpWriter(DataSourceArrowWriter):
    """Publishes each partition with confirms; commits when every row is accounted for."""

    def __init__(self, options: SinkOptions, columns: Columns) -> None:
        self.options = options
        self.columns = columns
        self.job_id = options.job_id or str(uuid.uuid4())

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> TaskCommitted:
        """Publish one partition, in a task. Called again, with the same rows, if it raised."""
        context = TaskContext.get()
        if context is None:
            raise PublishFailed("an AMQP write runs inside a Spark task")
        report = publish_batches(
            iterator,
            self.options,
            self.columns,
            job_id=self.job_id,
            partition=context.partitionId(),
            attempt=context.attemptNumber(),
        )
        return TaskCommitted(report)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """All tasks are done: raises :exc:`PublishFailed` unless all their rows are accounted
        for."""
        reports = [each.report for each in messages if isinstance(each, TaskCommitted)]
        if len(reports) != len(messages):
            raise PublishFailed(f"{len(messages) - len(reports)} tasks left no report")
        LOGGER.info("%s", total(self.job_id, reports))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """A task failed for good. AMQP can't take back what was published; this only says so."""
        reports = [each.report for each in messages if isinstance(each, TaskCommitted)]
        LOGGER.warning(
            "job %s is aborted; %d of its messages at least stay in their queues",
            self.job_id,
            sum(report.confirmed for report in reports),
        )
