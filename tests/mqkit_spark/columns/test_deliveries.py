"""mqkit_spark.columns.deliveries: messages that arrived, as rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit.message import Delivery, Properties
from mqkit_spark.columns.deliveries import (
    INT64_MAX,
    READ_ONLY_COLUMNS,
    arrow_schema,
    columns_of,
    ddl,
    record_batch,
    source_columns,
)
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.columns.schema import COLUMN_TYPES

MOMENT = datetime(2001, 1, 1, 0, 47, tzinfo=UTC)
FULL = Delivery(
    "x",
    "k",
    b"\x00\xff",
    Properties(
        content_type="t/x",
        content_encoding="e",
        headers={"n": 5, "t": "y"},
        persistent=False,
        priority=255,
        correlation_id="c",
        reply_to="r",
        expiration_ms=60_000,
        message_id="m",
        timestamp=MOMENT,
        type="y",
        user_id="guest",
        app_id="a",
    ),
    1,
    redelivered=True,
)
BARE = Delivery("", "q\udcff", b"", Properties(expiration_ms=INT64_MAX + 1), 2, redelivered=False)


def row(delivery: Delivery, headers: HeadersFormat = HeadersFormat.MAP) -> dict[str, Any]:
    return {name: column[0] for name, column in columns_of([delivery], headers).items()}


def test_each_property_has_its_column() -> None:
    assert row(FULL) == {
        "body": b"\x00\xff",
        "exchange": "x",
        "routing_key": "k",
        "headers": [("n", "5"), ("t", "y")],
        "message_id": "m",
        "content_type": "t/x",
        "content_encoding": "e",
        "correlation_id": "c",
        "reply_to": "r",
        "type": "y",
        "app_id": "a",
        "priority": 255,
        "expiration_ms": 60_000,
        "timestamp": MOMENT,
        "persistent": False,
        "user_id": "guest",
        "redelivered": True,
    }
    assert row(FULL, HeadersFormat.JSON)["headers"] == '{"n":5,"t":"y"}'


def test_what_was_not_sent_is_null_and_what_no_column_can_hold_too() -> None:
    found = row(BARE)
    assert found.pop("routing_key") == "q�"
    values = {name: value for name, value in found.items() if value is not None}
    assert values == {
        "body": b"",
        "exchange": "",
        "headers": [],
        "persistent": True,
        "redelivered": False,
    }


@pytest.mark.parametrize("headers", HeadersFormat)
def test_the_columns_are_the_sink_s_with_types_that_it_takes(headers: HeadersFormat) -> None:
    columns = source_columns(headers)
    assert set(columns) == set(COLUMN_TYPES)
    assert set(READ_ONLY_COLUMNS) < set(columns)
    for name, kind in columns.items():
        assert kind.partition("<")[0] in COLUMN_TYPES[name]
    assert ddl(headers).startswith("body binary, exchange string, routing_key string, headers ")


@pytest.mark.parametrize("headers", HeadersFormat)
def test_a_batch_has_the_schema_that_spark_expects(headers: HeadersFormat) -> None:
    pytest.importorskip("pyarrow")
    types = pytest.importorskip("pyspark.sql.pandas.types")
    spark_types = pytest.importorskip("pyspark.sql.types")
    batch = record_batch([FULL, BARE], headers)
    assert batch.schema == arrow_schema(headers)
    assert batch.num_rows == 2
    fields = spark_types.StructType()
    for name, kind in source_columns(headers).items():
        data_type = (
            spark_types.MapType(spark_types.StringType(), spark_types.StringType())
            if kind.startswith("map")
            else spark_types._parse_datatype_json_value(
                {"int": "integer", "bigint": "long"}.get(kind, kind)
            )
        )
        fields.add(name, data_type)
    assert types.to_arrow_schema(fields, timezone="UTC") == batch.schema
