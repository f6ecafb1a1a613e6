"""``publish(df, ...)``: the sink as one call that returns counts.

It runs the tasks of the ``amqp`` sink through ``mapInArrow`` and collects their reports, so the
counts come back to the caller wherever it is: no ``sparkContext`` and no shared file are needed,
and it works over Spark Connect, and on PySpark 3.5, which has no Python data sources.
"""

from __future__ import annotations

import uuid
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mqkit_spark.columns.schema import check, given_columns
from mqkit_spark.options import SINK_OPTIONS
from mqkit_spark.sink import journal
from mqkit_spark.sink.job import BatchJob
from mqkit_spark.sink.preflight import look_at_broker
from mqkit_spark.sink.progress import progress_bar
from mqkit_spark.sink.report import PublishReport, total
from mqkit_spark.sink.running import look_at_speculation, run_tasks
from mqkit_spark.sink.topology import apply_topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def publish(
    df: DataFrame,
    url: str | None = None,
    *,
    max_publishers: int | None = None,
    progress: bool = False,
    **options: Any,
) -> PublishReport:
    """Publish every row of ``df`` and return what became of them.

    ``url`` and ``options`` are those of :class:`~mqkit_spark.options.SinkOptions` (``exchange=``,
    ``routing_key=``, ``on_unroutable="drop"`` ...), the columns those of
    :mod:`mqkit_spark.columns.schema`. ``max_publishers`` bounds the tasks, and with them the
    connections at a time. ``progress`` shows on standard error how many tasks are done.

    Raises :exc:`~mqkit.errors.ConfigurationError` before anything runs when options or columns
    can't be used, and when the broker refuses the login or has no such exchange; Spark's own error,
    with the words of :exc:`~mqkit_spark.sink.report.PublishFailed` in it, when a task failed for
    good. Some messages may be in queues then: publish again with the same ``job_id`` (or a
    ``message_id`` column) so that consumers can tell the duplicates.
    """
    given = options if url is None else {"url": url, **options}
    sink_options = SINK_OPTIONS.from_keywords(given)
    columns = check(given_columns(df.schema), sink_options)
    look_at_speculation(df.sparkSession, sink_options, columns)
    apply_topology(sink_options)
    look_at_broker(sink_options)
    job_id = sink_options.job_id or str(uuid.uuid4())
    if max_publishers is not None:
        df = df.coalesce(max_publishers)
    bar = progress_bar(df.sparkSession) if progress else nullcontext()
    with bar:
        tasks = run_tasks(df, sink_options, columns, BatchJob(job_id))
    report = total(job_id, tasks)
    journal.write(report, sink_options.report_path)
    return report
