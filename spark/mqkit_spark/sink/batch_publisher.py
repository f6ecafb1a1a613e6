"""``batch_publisher(...)``: the sink for ``foreachBatch``, which PySpark 3.5 has too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqkit_spark.columns.schema import check, given_columns
from mqkit_spark.options import SINK_OPTIONS, SinkOptions
from mqkit_spark.sink import journal
from mqkit_spark.sink.job import StreamBatch
from mqkit_spark.sink.preflight import look_at_broker
from mqkit_spark.sink.report import PublishReport, job_id_of, total
from mqkit_spark.sink.running import look_at_speculation, run_tasks
from mqkit_spark.sink.topology import apply_topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class BatchPublisher:
    """Publishes the batches of a stream; made by :func:`batch_publisher`."""

    def __init__(self, options: SinkOptions, max_publishers: int | None) -> None:
        self._options = options
        self._max_publishers = max_publishers
        self._is_new = True

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """As :meth:`publish`, for Spark, which takes a function that returns nothing."""
        self.publish(df, batch_id)

    def publish(self, df: DataFrame, batch_id: int) -> PublishReport:
        """Publish one batch and return what became of its rows; raises as
        :func:`mqkit_spark.publish` does. Spark repeats a batch that failed when the query is
        started again."""
        options = self._options
        columns = check(given_columns(df.schema), options)
        if self._is_new:
            look_at_speculation(df.sparkSession, options, columns)
            apply_topology(options)
            look_at_broker(options)
            self._is_new = False
        if self._max_publishers is not None:
            df = df.coalesce(self._max_publishers)
        tasks = run_tasks(df, options, columns, StreamBatch(options.job_id, batch_id))
        report = total(job_id_of(tasks, f"batch {batch_id}"), tasks)
        journal.write(report, options.report_path, batch_id)
        return report


def batch_publisher(
    url: str | None = None, *, max_publishers: int | None = None, **options: Any
) -> BatchPublisher:
    """A function for ``writeStream.foreachBatch``, with the options of ``publish``::

        stream.writeStream.foreachBatch(mqkit_spark.batch_publisher(url=URL, exchange="flights"))

    Automatic ids are query, batch, partition and row: a batch that Spark repeats is published again
    under the same ids. A topology is applied at the first batch. A function of your own calls its
    :meth:`~BatchPublisher.publish`, which returns the batch's report. Raises
    :exc:`~mqkit.errors.ConfigurationError` for options that can't be.
    """
    given = options if url is None else {"url": url, **options}
    return BatchPublisher(SINK_OPTIONS.from_keywords(given), max_publishers)
