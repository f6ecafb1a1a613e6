"""DataFrames into queues, with publisher confirms.

``df.write.format("amqp")`` (see :mod:`mqkit_spark.datasource`) or :func:`publish`, which returns
counts. At least once: a task that Spark runs again publishes its rows again, under the same
message ids.
"""

from mqkit_spark.datasource import AmqpDataSource, register
from mqkit_spark.options import MessageIds, OnBadRow, OnUnroutable, SinkOptions
from mqkit_spark.publish import publish
from mqkit_spark.report import PublishFailed, PublishReport, TaskReport

__all__ = [
    "AmqpDataSource",
    "MessageIds",
    "OnBadRow",
    "OnUnroutable",
    "PublishFailed",
    "PublishReport",
    "SinkOptions",
    "TaskReport",
    "publish",
    "register",
]
