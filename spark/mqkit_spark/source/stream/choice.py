"""The stream reader that the options ask for."""

from __future__ import annotations

from collections.abc import Mapping

import pyspark
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import StructType

from mqkit.errors import ConfigurationError
from mqkit_spark.columns.schema import check_read, given_columns
from mqkit_spark.options import STREAM_READ_OPTIONS, StreamMode


def stream_reader(options: Mapping[str, str], schema: StructType) -> DataSourceStreamReader:
    """Checks options and columns before a query starts; raises
    :exc:`~mqkit.errors.ConfigurationError`, also for a Spark without bounded batches (4.1)."""
    found = STREAM_READ_OPTIONS.from_spark(options)
    check_read(given_columns(schema), found.headers_format)
    if not hasattr(DataSourceStreamReader, "getDefaultReadLimit"):
        raise ConfigurationError(
            f"a queue as a stream needs pyspark 4.2 or later, and this is {pyspark.__version__}"
        )
    # Here, since these import what an older Spark has not.
    if found.mode is StreamMode.DRIVER:
        from mqkit_spark.source.stream.driver_stream import DriverStream

        return DriverStream(found)
    from mqkit_spark.source.stream.spool_stream import SpoolStream

    return SpoolStream(found)
