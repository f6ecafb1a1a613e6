"""Spark's side of a batch write: one :class:`AmqpWriter` per job, pickled to every task.

Spark makes it once, in a process of its own, and pickles the same one into every task, every
attempt and the commit: so an id made in the constructor names the job everywhere.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from mqkit_spark.columns.schema import Columns
from mqkit_spark.options import SinkOptions
from mqkit_spark.sink import journal
from mqkit_spark.sink.job import BatchJob
from mqkit_spark.sink.report import PublishFailed, TaskReport, total
from mqkit_spark.sink.task import run

if TYPE_CHECKING:
    import pyarrow


@dataclass
class TaskCommitted(WriterCommitMessage):
    """A task's report on its way to the commit."""

    report: TaskReport


def reports_of(messages: Sequence[WriterCommitMessage | None]) -> list[TaskReport]:
    """The reports of all tasks. Raises :exc:`~mqkit_spark.sink.report.PublishFailed` where one has
    left none."""
    reports = [each.report for each in messages if isinstance(each, TaskCommitted)]
    if len(reports) != len(messages):
        raise PublishFailed(f"{len(messages) - len(reports)} tasks left no report")
    return reports


def say_aborted(messages: Sequence[WriterCommitMessage | None], name: str) -> None:
    """A task failed for good. AMQP can't take back what was published; this only says so."""
    reports = [each.report for each in messages if isinstance(each, TaskCommitted)]
    journal.warn(
        f"{name} is aborted; {sum(each.confirmed for each in reports)} of its messages at least"
        " stay in their queues"
    )


class AmqpWriter(DataSourceArrowWriter):
    """Publishes each partition with confirms; commits when every row is accounted for."""

    def __init__(self, options: SinkOptions, columns: Columns) -> None:
        self.options = options
        self.columns = columns
        self.job_id = options.job_id or str(uuid.uuid4())

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> TaskCommitted:
        """Publish one partition, in a task. Called again, with the same rows, if it raised."""
        return TaskCommitted(run(iterator, self.options, self.columns, BatchJob(self.job_id)))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """All tasks are done: raises :exc:`~mqkit_spark.sink.report.PublishFailed` unless all their
        rows are accounted for."""
        journal.write(total(self.job_id, reports_of(messages)), self.options.report_path)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """See :func:`say_aborted`."""
        say_aborted(messages, f"job {self.job_id}")
