"""Every column, property and header type, through the sink and back by a batch read.

1,000 generated rows; ``MQKIT_TEST_ROUND_TRIP_ROWS`` says another number, ``MQKIT_TEST_SEED`` which.
"""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from mqkit.wire import SizedInt, Typed, encode_table
from mqkit.wire.field_table import decode_tagged_table
from mqkit_spark import register
from mqkit_spark.columns.headers import as_json, as_map

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

ROWS = int(os.environ.get("MQKIT_TEST_ROUND_TRIP_ROWS", "1000"))
EXPIRATION_MS_MIN = 3_600_000
"""Nothing shall expire while the test runs."""

Row: TypeAlias = dict[str, Any]

# -- generated -----------------------------------------------------------------------------------

characters = st.characters(exclude_categories=["Cs"])
short_text = st.text(characters, max_size=63)  # 255 octets at most
header_names = short_text.filter(lambda name: name not in ("CC", "BCC"))  # RabbitMQ routes by them
moments = st.datetimes(datetime(1970, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC))
doubles = st.floats(allow_nan=False, allow_infinity=False)
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def sized(tag: str, bits: int, signed: bool) -> st.SearchStrategy[SizedInt]:
    numbers = integers(bits) if signed else st.integers(0, 2**bits - 1)
    return numbers.map(lambda number: SizedInt(tag, number))


decimals = st.builds(
    lambda unscaled, scale: Decimal(unscaled).scaleb(-scale), integers(32), st.integers(0, 20)
)
plain_values = st.one_of(
    *(st.none(), st.booleans(), integers(64), short_text, st.binary(max_size=20)),
    *(doubles, decimals, moments, floats.map(lambda number: Typed("f", number))),
    *(sized("b", 8, True), sized("B", 8, False), sized("s", 16, True), sized("u", 16, False)),
    *(sized("i", 32, False), sized("l", 64, True)),
    st.integers(0, 2**64 - 1).map(lambda seconds: Typed("T", seconds)),
    st.binary(max_size=20).map(lambda octets: Typed("S", octets)),
)
values = st.recursive(
    plain_values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(short_text, inner, max_size=3),
    max_leaves=6,
)
tables = st.dictionaries(header_names, values, max_size=4)
structs = st.fixed_dictionaries(
    {
        "s": st.none() | short_text,
        "b": st.none() | st.booleans(),
        "y": st.none() | integers(8),
        "h": st.none() | integers(16),
        "i": st.none() | integers(32),
        "l": st.none() | integers(64),
        "f": st.none() | floats,
        "d": st.none() | doubles,
        "m": st.none() | st.decimals(-9_999_999, 9_999_999, places=2),
        "x": st.none() | st.binary(max_size=20),
        "t": st.none() | moments,
        "a": st.none() | st.lists(st.none() | integers(64), max_size=3),
        "n": st.none() | st.dictionaries(short_text, st.none() | short_text, max_size=3),
    }
)
properties = st.fixed_dictionaries(
    {
        "body": st.binary(max_size=200),
        "routing_key": short_text,
        "message_id": short_text,
        **{
            name: st.none() | short_text
            for name in (
                *("content_type", "content_encoding", "correlation_id"),
                *("reply_to", "type", "app_id"),
            )
        },
        "priority": st.none() | st.integers(0, 255),
        "expiration_ms": st.none() | st.integers(EXPIRATION_MS_MIN, 2**32 - 1),
        "timestamp": st.none() | moments,
        "persistent": st.none() | st.booleans(),
    }
)


def generated(count: int, headers: st.SearchStrategy[Any], number: int) -> list[Row]:
    rows: list[Row] = []

    @seed(number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(properties, headers)
    def collect(row: Row, headers: Any) -> None:
        rows.append({**row, "headers": headers})

    collect()
    return rows[-count:]


# -- expected ------------------------------------------------------------------------------------


def arrived(table: dict[str, Any]) -> dict[str, Any]:
    """Headers as the codec alone has them after their way."""
    return decode_tagged_table(encode_table(table))[0]


def table_of(struct: dict[str, Any]) -> dict[str, Any]:
    """A struct as the table that docs/spark_read.md says."""
    tags = {"y": "b", "h": "s", "i": "I", "l": "l"}
    table = {field.name: struct[field.name] for field in struct_type()}
    for name, tag in tags.items():
        if table[name] is not None:
            table[name] = SizedInt(tag, table[name])
    if table["f"] is not None:
        table["f"] = Typed("f", table["f"])
    if table["a"] is not None:
        table["a"] = [None if each is None else SizedInt("l", each) for each in table["a"]]
    return table


def expected(row: Row, table: dict[str, Any], exchange: str) -> Row:
    moment = row["timestamp"]
    return {
        **row,
        "headers": table,
        "exchange": exchange,
        "timestamp": None if moment is None else moment.replace(microsecond=0),
        "persistent": row["persistent"] is not False,
        "user_id": None,
    }


# -- written and read ----------------------------------------------------------------------------


def write(spark: SparkSession, rows: list[Row], headers: Any, url: str, exchange: str) -> None:
    """One job, in the rows' order."""
    import pyarrow as pa

    text = pa.string()
    kinds = {
        "body": pa.binary(),
        "priority": pa.int32(),
        "expiration_ms": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"),
        "persistent": pa.bool_(),
        "headers": headers,
    }
    schema = pa.schema([(name, kinds.get(name, text)) for name in rows[0]])
    df = spark.createDataFrame(pa.Table.from_pylist(rows, schema))
    writer = df.coalesce(1).write.format("amqp").mode("append")
    writer.options(url=url, exchange=exchange, maxMessageBytes=1_000).save()


def read(spark: SparkSession, url: str, queue: str, **options: str) -> list[Row]:
    reader = spark.read.format("amqp").options(url=url, queue=queue, maxMessages=2 * ROWS)
    rows: list[Row] = reader.options(**options).load().toArrow().to_pylist()
    return rows


def struct_type() -> Any:
    import pyarrow as pa

    text = pa.string()
    return pa.struct(
        [
            *(("s", text), ("b", pa.bool_()), ("y", pa.int8()), ("h", pa.int16())),
            *(("i", pa.int32()), ("l", pa.int64()), ("f", pa.float32()), ("d", pa.float64())),
            *(("m", pa.decimal128(9, 2)), ("x", pa.binary()), ("t", pa.timestamp("us", "UTC"))),
            *(("a", pa.list_(pa.int64())), ("n", pa.map_(text, text))),
        ]
    )


@pytest.fixture(scope="module")
def rows() -> tuple[list[Row], list[Row]]:
    """Rows whose headers are tables, and rows whose headers are structs."""
    number = int(os.environ.get("MQKIT_TEST_SEED", random.SystemRandom().randrange(2**32)))
    print(f"MQKIT_TEST_SEED={number}, {ROWS} rows")
    of_json = generated(ROWS - ROWS // 2, tables, number)
    return of_json, generated(ROWS // 2, structs, number)


def test_rows_come_back_as_they_went(
    rows: tuple[list[Row], list[Row]], spark: SparkSession, broker_url: str, target: Any
) -> None:
    import pyarrow as pa

    register(spark)
    of_json, of_structs = rows
    exchange = target.name + "-exchange"
    target.channel.exchange_declare(exchange, "fanout", auto_delete=True)
    target.channel.queue_bind(target.name, exchange)
    sent = [{**row, "headers": as_json(row["headers"])} for row in of_json]
    write(spark, sent, pa.string(), broker_url, exchange)
    write(spark, of_structs, struct_type(), broker_url, exchange)

    wanted = [expected(row, arrived(row["headers"]), exchange) for row in of_json]
    wanted += [expected(row, arrived(table_of(row["headers"])), exchange) for row in of_structs]
    found = read(spark, broker_url, target.name, headersFormat="json")
    assert len(found) == ROWS
    for want, got in zip(wanted, found, strict=True):
        assert got.pop("redelivered") is False
        assert json.loads(got["headers"]) == json.loads(as_json(want["headers"]))
        assert got == {**want, "headers": got["headers"]}
    for want, got in zip(wanted, read(spark, broker_url, target.name), strict=True):
        assert got.pop("redelivered") is True
        assert got == {**want, "headers": as_map(want["headers"])}
