"""The columns of a DataFrame, and the fields of a message that they become. Checked before the job
starts.

===================  =====================  ==========================================
column               type                   meaning
===================  =====================  ==========================================
body                 string or binary       required
exchange             string                 unless option ``exchange`` is given
routing_key          string                 unless option ``routingKey`` is given
headers              map<string,string>     headers; an entry of null is sent as such
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
===================  =====================  ==========================================

Pure: it knows Spark's types by their ``simpleString`` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqkit.errors import ConfigurationError
from mqkit_spark.options import MessageIds, SinkOptions

_STRING = frozenset({"string"})
_INTEGER = frozenset({"tinyint", "smallint", "int", "bigint"})

COLUMN_TYPES: dict[str, frozenset[str]] = {
    "body": frozenset({"string", "binary"}),
    "exchange": _STRING,
    "routing_key": _STRING,
    "headers": frozenset({"map<string,string>"}),
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
}
"""Every column that the sink knows, with the types that it may have."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a job, by position, and where its message ids come from."""

    names: tuple[str, ...]
    message_ids: MessageIds


def check(fields: Sequence[tuple[str, str]], options: SinkOptions) -> Columns:
    """The columns to use, from the (name, ``simpleString`` of the type) of a DataFrame.

    Raises :exc:`~mqkit.errors.ConfigurationError` with every fault that was found.
    """
    faults: list[str] = []
    names = [name for name, _ in fields]
    for name, kind in fields:
        allowed = COLUMN_TYPES.get(name)
        if allowed is None:
            faults.append(
                f"column {name!r} has no meaning for AMQP; put it into body or headers, or drop it"
            )
        elif kind not in allowed:
            faults.append(f"column {name!r} is {kind}, expected {' or '.join(sorted(allowed))}")
        if names.count(name) > 1 and f"column {name!r} is there twice" not in faults:
            faults.append(f"column {name!r} is there twice")
    if "body" not in names:
        faults.append(
            "there is no column 'body'; make one, for example with to_json(struct(*)) as body"
        )
    faults += _addressing(names, options)
    message_ids = options.message_ids
    if message_ids is None:
        message_ids = MessageIds.COLUMN if "message_id" in names else MessageIds.AUTO
    elif message_ids is MessageIds.COLUMN and "message_id" not in names:
        faults.append("messageIds is column, but there is no column 'message_id'")
    if faults:
        known = ", ".join(COLUMN_TYPES)
        raise ConfigurationError(f"{'; '.join(faults)} (columns: {known})")
    return Columns(tuple(names), message_ids)


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
