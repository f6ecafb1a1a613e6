"""Messages that arrived, as Arrow batches: the sink's columns, so that what is read can be written
again, and two that only a source has.

===================  ==========================================================
column               beside what the sink says of it
===================  ==========================================================
body                 binary, the octets as they are
exchange             of the last publish; empty for the default exchange
routing_key
headers              map<string,string>, or JSON (``headersFormat``)
message_id ... app_id    null where the publisher sent none
priority             int
expiration_ms        bigint; null where it was no number
timestamp            null where it was after the year 9999
persistent           delivery mode 2
user_id              as the broker has checked it; the sink leaves it out
redelivered          delivered before, and not acked; the sink leaves it out
===================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from mqkit.message import Delivery, Properties
from mqkit_spark.columns.headers import HeadersFormat, as_json, as_map, readable

if TYPE_CHECKING:
    import pyarrow

TEXT_COLUMNS = (
    "message_id",
    "content_type",
    "content_encoding",
    "correlation_id",
    "reply_to",
    "type",
    "app_id",
    "user_id",
)
"""Columns that are short strings of the properties, by the same name."""

READ_ONLY_COLUMNS = {"user_id": "string", "redelivered": "boolean"}
"""Columns of a source that a sink takes and leaves out: the broker lets nobody send another's name,
and says itself what it delivered before."""

INT64_MAX = 2**63 - 1
"""The largest expiration that a column can hold; what is larger is sooner the end of the world than
a TTL."""


def source_columns(headers: HeadersFormat) -> dict[str, str]:
    """The columns with their types, in their order."""
    return {**_DDL, "headers": "string" if headers is HeadersFormat.JSON else "map<string,string>"}


def ddl(headers: HeadersFormat) -> str:
    """The schema in Spark's own words."""
    return ", ".join(f"{name} {kind}" for name, kind in source_columns(headers).items())


@cache
def arrow_schema(headers: HeadersFormat) -> pyarrow.Schema:
    """The same for Arrow; batches that differ in a nullability or a time zone are refused by
    Spark."""
    import pyarrow as pa

    text = pa.string()
    kinds = {
        "binary": pa.binary(),
        "string": text,
        "int": pa.int32(),
        "bigint": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "boolean": pa.bool_(),
        "": text if headers is HeadersFormat.JSON else pa.map_(text, text),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in _DDL.items()])


def record_batch(deliveries: Sequence[Delivery], headers: HeadersFormat) -> pyarrow.RecordBatch:
    """The messages as rows, in their order."""
    import pyarrow as pa

    schema = arrow_schema(headers)
    columns = columns_of(deliveries, headers)
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.record_batch(arrays, schema=schema)


def columns_of(deliveries: Sequence[Delivery], headers: HeadersFormat) -> dict[str, list[Any]]:
    """The values of each column."""
    return {
        "body": [each.body for each in deliveries],
        "exchange": [readable(each.exchange) for each in deliveries],
        "routing_key": [readable(each.routing_key) for each in deliveries],
        "redelivered": [each.redelivered for each in deliveries],
        **columns_of_properties([each.properties for each in deliveries], headers),
    }


def columns_of_properties(
    properties: Sequence[Properties], headers: HeadersFormat
) -> dict[str, list[Any]]:
    """The values of the columns that the properties of a message make."""
    as_column = as_json if headers is HeadersFormat.JSON else as_map
    found: dict[str, list[Any]] = {
        "headers": [as_column(each.headers) for each in properties],
        "priority": [each.priority for each in properties],
        "expiration_ms": [_ttl(each.expiration_ms) for each in properties],
        "timestamp": [each.timestamp for each in properties],
        "persistent": [each.persistent for each in properties],
    }
    for name in TEXT_COLUMNS:
        texts = (getattr(each, name) for each in properties)
        found[name] = [None if text is None else readable(text) for text in texts]
    return found


_DDL = {
    "body": "binary",
    "exchange": "string",
    "routing_key": "string",
    "headers": "",
    **dict.fromkeys(TEXT_COLUMNS[:-1], "string"),
    "priority": "int",
    "expiration_ms": "bigint",
    "timestamp": "timestamp",
    "persistent": "boolean",
    "user_id": "string",
    "redelivered": "boolean",
}


def _ttl(ms: int | None) -> int | None:
    return ms if ms is None or ms <= INT64_MAX else None
