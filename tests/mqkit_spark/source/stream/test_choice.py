"""The stream reader that the options ask for."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from mqkit.errors import ConfigurationError

pytest.importorskip("pyspark")

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import StructType, _parse_datatype_string

from mqkit_spark.columns.deliveries import ddl
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.source.stream.choice import stream_reader
from mqkit_spark.source.stream.driver_stream import DriverStream
from mqkit_spark.source.stream.spool_stream import SpoolStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GIVEN = {"url": "amqp://me:hunter2@127.0.0.1:1/", "queue": "orders"}
SPOOL = {**GIVEN, "spoollocation": "/spool"}


@pytest.fixture
def schema(spark: SparkSession) -> StructType:
    found = _parse_datatype_string(ddl(HeadersFormat.MAP))
    assert isinstance(found, StructType)
    return found


def test_a_reader_by_mode_that_connects_to_nothing_and_travels(schema: StructType) -> None:
    assert isinstance(stream_reader({**GIVEN, "mode": "driver"}, schema), DriverStream)
    reader = stream_reader(SPOOL, schema)
    assert isinstance(pickle.loads(pickle.dumps(reader)), SpoolStream)


def test_an_older_spark_is_told_in_one_line(
    schema: StructType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(DataSourceStreamReader, "getDefaultReadLimit")
    with pytest.raises(ConfigurationError, match=r"needs pyspark 4\.2 or later"):
        stream_reader(SPOOL, schema)


def test_another_schema_is_refused(schema: StructType) -> None:
    with pytest.raises(ConfigurationError, match="has its own columns"):
        stream_reader(SPOOL, StructType(schema.fields[:1]))
