"""The data source ``amqp`` for Spark: writes and reads, in batches and as streams.

::

    df.selectExpr("to_json(struct(*)) as body", "concat('flights.', origin) as routing_key")
      .write.format("amqp").mode("append")
      .option("urlFile", "/etc/broker.url").option("exchange", "flights").save()

    spark.read.format("amqp").option("urlFile", "/etc/broker.url").option("queue", "orders").load()

Spark calls these methods by keyword in places: their parameters must be named ``schema`` and
``overwrite``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from mqkit.errors import ConfigurationError
from mqkit_spark.columns.deliveries import ddl
from mqkit_spark.columns.schema import Columns, check, check_read, given_columns
from mqkit_spark.options import (
    BATCH_READ_OPTIONS,
    SINK_OPTIONS,
    STREAM_SINK_OPTIONS,
    OptionTable,
    SinkOptions,
)
from mqkit_spark.options.reads import read_options
from mqkit_spark.sink.preflight import look_at_broker, look_at_broker_once
from mqkit_spark.sink.topology import apply_topology, apply_topology_once
from mqkit_spark.sink.writer import AmqpWriter
from mqkit_spark.source.batch.reader import AmqpReader
from mqkit_spark.source.stream.choice import stream_reader
from mqkit_spark.versions import require_streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AmqpDataSource(DataSource):
    """Registered by :func:`register`, or found by Spark itself through ``pyspark_mqkit``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return "amqp"

    def schema(self) -> str:
        """The columns of a read, batch or stream; Spark asks for them in ``load()``. Raises
        :exc:`~mqkit.errors.ConfigurationError` for options that no read has."""
        return ddl(read_options(self.options).headers_format)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch read. Raises :exc:`~mqkit.errors.ConfigurationError` for options that it has not,
        and for a schema of the user's own."""
        options = BATCH_READ_OPTIONS.from_spark(self.options)
        check_read(given_columns(schema), options.headers_format)
        return AmqpReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A queue as a stream. Raises :exc:`~mqkit.errors.ConfigurationError` as :meth:`reader`."""
        return stream_reader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Checks options and columns before a row is read; raises
        :exc:`~mqkit.errors.ConfigurationError`."""
        if overwrite:
            raise ConfigurationError(
                'a queue can\'t be overwritten: write with .mode("append"), and purge first if the'
                " old messages shall go (mqkit dlq purge, or the broker's own tools)"
            )
        options, columns = self._sink(SINK_OPTIONS, schema)
        apply_topology(options)
        look_at_broker(options)
        return AmqpWriter(options, columns)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Called for every batch and again for its commit. Checks options and columns before a row
        is read; raises :exc:`~mqkit.errors.ConfigurationError`.

        ``overwrite`` is Spark's output mode ``complete``, which is refused: a queue can't be
        overwritten.
        """
        require_streams()
        if overwrite:
            raise ConfigurationError(
                'a queue can\'t be overwritten: outputMode("complete") is refused, "append" and'
                ' "update" publish each row once'
            )
        options, columns = self._sink(STREAM_SINK_OPTIONS, schema)
        checkpoint = self.options.get("checkpointLocation")
        apply_topology_once(options, checkpoint)
        look_at_broker_once(options)
        from mqkit_spark.sink.stream_writer import AmqpStreamWriter

        return AmqpStreamWriter(options, columns)

    def _sink(
        self, table: OptionTable[SinkOptions], schema: StructType
    ) -> tuple[SinkOptions, Columns]:
        options = table.from_spark(self.options)
        return options, check(given_columns(schema), options)


def register(spark: SparkSession) -> None:
    """Make ``format("amqp")`` known to a session. Idempotent.

    Not needed where this package is installed on the driver: Spark finds it by itself then.
    """
    spark.dataSource.register(AmqpDataSource)
