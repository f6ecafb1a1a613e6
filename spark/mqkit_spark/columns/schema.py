"""The columns of a DataFrame, and the fields of a message that they become. Checked before the job
starts.

===================  =====================  ==========================================
column               type                   meaning
===================  =====================  ==========================================
body                 string or binary       required
exchange             string                 unless option ``exchange`` is given
routing_key          string                 unless option ``routingKey`` is given
headers              map, struct, string    headers with their types, or JSON
                                            (:mod:`mqkit_spark.columns.header_types`)
message_id           string                 a stable id (see ``messageIds``)
content_type         string                 unless option ``contentType`` is given
content_encoding     string
correlation_id       string
reply_to             string
type                 string
app_id               string
priority             tinyint .. bigint      0 to 255
expiration_ms        int or bigint          per-message TTL, not negative
timestamp            timestamp              sent in whole seconds
persistent           boolean                unless option ``persistent`` is given
user_id              string                 of a source: left out
redelivered          boolean                of a source: left out
===================  =====================  ==========================================

Pure: it knows Spark's types by their ``simpleString``, and those of the headers by their
``jsonValue``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mqkit.errors import ConfigurationError
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit_spark.columns.deliveries import READ_ONLY_COLUMNS, ddl, source_columns
from mqkit_spark.columns.header_types import ColumnType, column_type, is_text_only
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.options import MessageIds, SinkOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_STRING = frozenset({"string"})
_INTEGER = frozenset({"tinyint", "smallint", "int", "bigint"})

COLUMN_TYPES: dict[str, frozenset[str]] = {
    "body": frozenset({"string", "binary"}),
    "exchange": _STRING,
    "routing_key": _STRING,
    "headers": frozenset({"map", "struct", "string"}),
    "message_id": _STRING,
    "content_type": _STRING,
    "content_encoding": _STRING,
    "correlation_id": _STRING,
    "reply_to": _STRING,
    "type": _STRING,
    "app_id": _STRING,
    "priority": _INTEGER,
    "expiration_ms": _INTEGER,
    "timestamp": frozenset({"timestamp"}),
    "persistent": frozenset({"boolean"}),
    **{name: frozenset({kind}) for name, kind in READ_ONLY_COLUMNS.items()},
}
"""Every column that the sink knows, with the types that it may have."""


class Given(NamedTuple):
    """A column of a DataFrame."""

    name: str
    kind: str
    """Its type's ``simpleString``."""
    type: Any
    """Its type's ``jsonValue``."""


def given_columns(schema: StructType) -> list[Given]:
    """The columns of a DataFrame."""
    return [
        Given(each.name, each.dataType.simpleString(), each.dataType.jsonValue())
        for each in schema.fields
    ]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a job, by position, and where its message ids come from."""

    names: tuple[str, ...]
    message_ids: MessageIds
    headers: ColumnType | None = None
    """The type of the column ``headers``, if there is one."""


def check(fields: Sequence[Given], options: SinkOptions) -> Columns:
    """The columns to use. Raises :exc:`~mqkit.errors.ConfigurationError` with every fault that was
    found."""
    faults: list[str] = []
    names = [each.name for each in fields]
    for name, kind, _ in fields:
        allowed = COLUMN_TYPES.get(name)
        if allowed is None:
            faults.append(
                f"column {name!r} has no meaning for AMQP; put it into body or headers, or drop it"
            )
        elif name == "body" and kind.startswith(("struct<", "map<", "array<")):
            faults.append(
                "column 'body' is a struct, a map or an array; make text of it, for example with"
                " to_json(struct(*)) as body"
            )
        elif name != "headers" and kind not in allowed:
            faults.append(f"column {name!r} is {kind}, expected {' or '.join(sorted(allowed))}")
        if names.count(name) > 1 and f"column {name!r} is there twice" not in faults:
            faults.append(f"column {name!r} is there twice")
    if "body" not in names:
        faults.append(
            "there is no column 'body'; make one, for example with to_json(struct(*)) as body"
        )
    faults += _addressing(names, options)
    headers = None
    try:
        headers = _headers(fields, options)
    except ValueError as error:
        faults.append(f"column 'headers' {error}")
    message_ids = options.message_ids
    if message_ids is None:
        message_ids = MessageIds.COLUMN if "message_id" in names else MessageIds.AUTO
    elif message_ids is MessageIds.COLUMN and "message_id" not in names:
        faults.append("messageIds is column, but there is no column 'message_id'")
    faults += _telling_apart(message_ids, options)
    if faults:
        known = ", ".join(COLUMN_TYPES)
        raise ConfigurationError(f"{'; '.join(faults)} (columns: {known})")
    return Columns(tuple(names), message_ids, headers)


def check_read(fields: Sequence[Given], headers: HeadersFormat) -> None:
    """Raises :exc:`~mqkit.errors.ConfigurationError` unless the columns are a source's own."""
    if [(each.name, each.kind) for each in fields] != list(source_columns(headers).items()):
        raise ConfigurationError(
            "a queue has its own columns: load it without a schema, and select(...) from these:"
            f" {ddl(headers)}"
        )


def _headers(fields: Sequence[Given], options: SinkOptions) -> ColumnType | None:
    kinds = [each.type for each in fields if each.name == "headers"]
    if not kinds:
        return None
    found = column_type(kinds[0])
    if options.transport is BlockingChoice.PIKA and not is_text_only(found):
        raise ValueError("has types that pika loses: map<string,string>, or transport native")
    return found


def _telling_apart(message_ids: MessageIds, options: SinkOptions) -> list[str]:
    """A queue that deduplicates keeps one of two rows that have the same id."""
    if not options.dedup or message_ids is MessageIds.COLUMN:
        return []
    if message_ids is MessageIds.NONE:
        return ["dedup is true, but with messageIds none there is no id to tell duplicates by"]
    if options.deterministic:
        return []
    return [
        "dedup is true, but the ids are automatic (partition and row): where Spark computes a"
        " partition again with other rows, the queue would drop some; give a column 'message_id',"
        " or say deterministic=true if the plan gives the same rows in the same order each time"
    ]


def _addressing(names: Sequence[str], options: SinkOptions) -> list[str]:
    has_exchange = options.exchange is not None or "exchange" in names
    has_key = options.routing_key is not None or "routing_key" in names
    if not has_exchange and not has_key:
        return [
            "nothing says where to: give option exchange (or a column of that name), or"
            " routingKey alone with the name of a queue"
        ]
    if options.exchange == "" and not has_key:
        return ["the default exchange routes by queue name: give option routingKey, or a column"]
    return []
