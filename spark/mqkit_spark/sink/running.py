"""The tasks of a DataFrame, run through ``mapInArrow``; their reports come back to the caller."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mqkit.errors import ConfigurationError
from mqkit_spark.columns.schema import Columns
from mqkit_spark.options import MessageIds, SinkOptions
from mqkit_spark.sink.job import Job
from mqkit_spark.sink.report import TaskReport
from mqkit_spark.sink.task import run

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

REPORT_COLUMN = "report"


def run_tasks(df: DataFrame, options: SinkOptions, columns: Columns, job: Job) -> list[TaskReport]:
    """Publish the rows of ``df``; the reports of its tasks."""
    answers = df.mapInArrow(_task(options, columns, job), f"{REPORT_COLUMN} string").collect()
    return [TaskReport.from_json(answer[REPORT_COLUMN]) for answer in answers]


def _task(
    options: SinkOptions, columns: Columns, job: Job
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    def publish_partition(
        batches: Iterator[pyarrow.RecordBatch],
    ) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        report = run(batches, options, columns, job)
        yield pyarrow.RecordBatch.from_pydict({REPORT_COLUMN: [report.to_json()]})

    return publish_partition


def look_at_speculation(spark: SparkSession, options: SinkOptions, columns: Columns) -> None:
    """Warns where Spark may run two attempts of one task at a time, unless the queue deduplicates;
    raises :exc:`~mqkit.errors.ConfigurationError` where the messages have no ids either."""
    if str(spark.conf.get("spark.speculation", "false")).lower() != "true" or options.dedup:
        return
    if columns.message_ids is MessageIds.NONE:
        raise ConfigurationError(
            "spark.speculation is on: rows of slow tasks are published twice, and with messageIds"
            " none nobody can tell; turn it off, or give the messages ids"
        )
    warnings.warn(
        "spark.speculation is on: rows of slow tasks are published twice, under the same ids"
        " (dedup says that the queue drops the second)",
        stacklevel=3,
    )
