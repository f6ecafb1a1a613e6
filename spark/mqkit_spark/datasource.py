"""The data source ``amqp`` for Spark, for batch writes.

::

    df.selectExpr("to_json(struct(*)) as body", "concat('flights.', origin) as routing_key")
      .write.format("amqp").mode("append")
      .option("url", "amqp://user:password@host:5672/").option("exchange", "flights").save()

Spark calls :meth:`AmqpDataSource.writer` by keyword in places: its parameters must be named
``schema`` and ``overwrite``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceWriter
from pyspark.sql.types import StructType

from mqkit.errors import ConfigurationError
from mqkit_spark.columns.schema import check, given_columns
from mqkit_spark.options import SINK_OPTIONS
from mqkit_spark.sink.writer import AmqpWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AmqpDataSource(DataSource):
    """Registered by :func:`register`, or found by Spark itself through ``pyspark_mqkit``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return "amqp"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Checks options and columns before a row is read; raises
        :exc:`~mqkit.errors.ConfigurationError`."""
        if overwrite:
            raise ConfigurationError(
                'a queue can\'t be overwritten: write with .mode("append"), and purge first if the'
                " old messages shall go (mqkit dlq purge, or the broker's own tools)"
            )
        options = SINK_OPTIONS.from_spark(self.options)
        return AmqpWriter(options, check(given_columns(schema), options))


def register(spark: SparkSession) -> None:
    """Make ``format("amqp")`` known to a session. Idempotent.

    Not needed where this package is installed on the driver: Spark finds it by itself then.
    """
    spark.dataSource.register(AmqpDataSource)
