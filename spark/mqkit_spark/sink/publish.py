"""``publish(df, ...)``: the sink as one call that returns counts.

It runs the tasks of the ``amqp`` sink through ``mapInArrow`` and collects their reports, so the
counts come back to the caller wherever it is: no ``sparkContext`` and no shared file are needed,
and it works over Spark Connect.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mqkit_spark.columns.schema import Columns, check, given_columns
from mqkit_spark.options import SINK_OPTIONS, SinkOptions
from mqkit_spark.sink.report import PublishFailed, PublishReport, TaskReport, total
from mqkit_spark.sink.task import publish_batches

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

REPORT_COLUMN = "report"


def publish(
    df: DataFrame, url: str, *, max_publishers: int | None = None, **options: Any
) -> PublishReport:
    """Publish every row of ``df`` and return what became of them.

    ``url`` and ``options`` are those of :class:`~mqkit_spark.options.SinkOptions` (``exchange=``,
    ``routing_key=``, ``on_unroutable="drop"`` ...), the columns those of
    :mod:`mqkit_spark.columns.schema`. ``max_publishers`` bounds the tasks, and with them the
    connections at a time.

    Raises :exc:`~mqkit.errors.ConfigurationError` before anything runs when options or columns
    can't be used; Spark's own error, with the words of
    :exc:`~mqkit_spark.sink.report.PublishFailed` in it, when a task failed for good. Some messages
    may be in queues then: publish again with the same ``job_id`` (or a ``message_id`` column) so
    that consumers can tell the duplicates.
    """
    sink_options = SINK_OPTIONS.from_keywords({"url": url, **options})
    columns = check(given_columns(df.schema), sink_options)
    _warn_of_speculation(df)
    job_id = sink_options.job_id or str(uuid.uuid4())
    if max_publishers is not None:
        df = df.coalesce(max_publishers)
    answers = df.mapInArrow(
        _task(sink_options, columns, job_id), f"{REPORT_COLUMN} string"
    ).collect()
    return total(job_id, [TaskReport.from_json(answer[REPORT_COLUMN]) for answer in answers])


def _task(
    options: SinkOptions, columns: Columns, job_id: str
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise PublishFailed("publish runs inside Spark tasks")
        report = publish_batches(
            batches,
            options,
            columns,
            job_id=job_id,
            partition=context.partitionId(),
            attempt=context.attemptNumber(),
        )
        yield pyarrow.RecordBatch.from_pydict({REPORT_COLUMN: [report.to_json()]})

    return run


def _warn_of_speculation(df: DataFrame) -> None:
    if str(df.sparkSession.conf.get("spark.speculation", "false")).lower() == "true":
        warnings.warn(
            "spark.speculation is on: rows of slow tasks are published twice, under the same ids",
            stacklevel=3,
        )
