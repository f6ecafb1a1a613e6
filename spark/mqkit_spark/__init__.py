"""DataFrames into queues, with publisher confirms, and back.

``df.write.format("amqp")`` and ``df.writeStream.format("amqp")`` (see
:mod:`mqkit_spark.datasource`), :func:`publish`, which returns counts, and :func:`batch_publisher`
for ``foreachBatch``. At least once: a task or a batch that Spark runs again publishes its rows
again, under the same message ids. ``spark.readStream.format("amqp")`` consumes a queue,
``spark.read`` looks into one. :func:`package_zip` makes the file that brings all of it to the
executors.

``format("amqp")`` needs PySpark 4.0, its streams 4.2; the two functions work on 3.5 too. Raises
:exc:`ImportError` with the command that installs it where PySpark is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import NoReturn as _NoReturn

from mqkit.errors import ConfigurationError as _ConfigurationError
from mqkit.extras import advice as _advice

if _TYPE_CHECKING:
    from pyspark.sql import SparkSession as _SparkSession

try:
    import pyarrow as _pyarrow  # noqa: F401 - wanted by each job, and first missed inside a task

    from mqkit_spark.archive import package_zip
    from mqkit_spark.options import MessageIds, OnBadRow, OnUnroutable, SinkOptions
    from mqkit_spark.sink.batch_publisher import BatchPublisher, batch_publisher
    from mqkit_spark.sink.publish import publish
    from mqkit_spark.sink.report import PublishFailed, PublishReport, TaskReport
    from mqkit_spark.versions import without_data_sources as _without_data_sources
except ModuleNotFoundError as missing:
    _words = _advice(missing, "spark")
    if _words is None:
        raise
    raise ImportError(f"mqkit_spark: {_words}", name=missing.name) from None

_no_data_source = _without_data_sources()
if _no_data_source is None:
    from mqkit_spark.datasource import AmqpDataSource, register
else:

    def register(spark: _SparkSession) -> None:
        """Says which PySpark ``format("amqp")`` needs, by
        :exc:`~mqkit.errors.ConfigurationError`."""
        raise _ConfigurationError(_no_data_source)

    def __getattr__(name: str) -> _NoReturn:
        reason = f": {_no_data_source}" if name == "AmqpDataSource" else ""
        raise AttributeError(f"module 'mqkit_spark' has no attribute {name!r}{reason}")


__all__ = [
    "AmqpDataSource",
    "BatchPublisher",
    "MessageIds",
    "OnBadRow",
    "OnUnroutable",
    "PublishFailed",
    "PublishReport",
    "SinkOptions",
    "TaskReport",
    "batch_publisher",
    "package_zip",
    "publish",
    "register",
]
