"""DataFrames into queues, with publisher confirms, and back.

``df.write.format("amqp")`` (see :mod:`mqkit_spark.datasource`) or :func:`publish`, which returns
counts. At least once: a task that Spark runs again publishes its rows again, under the same
message ids. ``spark.read.format("amqp")`` looks into a queue. :func:`package_zip` makes the file
that brings all of it to the executors.

Raises :exc:`ImportError` with the command that installs it where PySpark is missing.
"""

from mqkit.extras import advice as _advice

try:
    import pyarrow as _pyarrow  # noqa: F401 - wanted by each job, and first missed inside a task

    from mqkit_spark.archive import package_zip
    from mqkit_spark.datasource import AmqpDataSource, register
    from mqkit_spark.options import MessageIds, OnBadRow, OnUnroutable, SinkOptions
    from mqkit_spark.sink.publish import publish
    from mqkit_spark.sink.report import PublishFailed, PublishReport, TaskReport
except ModuleNotFoundError as missing:
    _words = _advice(missing, "spark")
    if _words is None:
        raise
    raise ImportError(f"mqkit_spark: {_words}", name=missing.name) from None

__all__ = [
    "AmqpDataSource",
    "MessageIds",
    "OnBadRow",
    "OnUnroutable",
    "PublishFailed",
    "PublishReport",
    "SinkOptions",
    "TaskReport",
    "package_zip",
    "publish",
    "register",
]
