"""Rows that are texts and a body, into messages, a batch at a time. Pure.

Most jobs have a body, a key and an id; then the columns are looked at as wholes, and nothing is
asked of each row. Whatever could be a bad row, or is more than text, is read row by row instead, by
:class:`~mqkit_spark.columns.rows.RowReader`, which makes the same messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from types import MappingProxyType
from typing import Any

from mqkit.drafts import new_message, new_properties
from mqkit.message import Headers, Message
from mqkit_spark.columns.rows import RowReader, message_ids
from mqkit_spark.columns.values import Unreadable
from mqkit_spark.options import MessageIds
from mqkit_spark.options.checks import SHORT_STRING_BYTES_MAX

CHARACTER_BYTES_MAX = 4
"""In UTF-8."""

_PLAIN = frozenset(
    {
        *("body", "exchange", "routing_key", "message_id", "content_type", "content_encoding"),
        *("correlation_id", "reply_to", "type", "app_id"),
    }
)

_NO_HEADERS: Headers = MappingProxyType({})

Texts = Iterable[str | None]


class _Doubt(Exception):
    """One has to look at each row."""


def plain_messages(
    reader: RowReader, columns: Sequence[Sequence[Any]], first_row: int
) -> list[Message] | None:
    """The messages of a batch without a bad row; ``None`` where one has to look at each row.
    ``columns`` are as for :meth:`~mqkit_spark.columns.rows.RowReader.read`."""
    options, names = reader.options, reader.columns.names
    if options.dedup or not _PLAIN.issuperset(names):
        return None
    if any(Unreadable in map(type, column) for column in columns):
        return None
    found = dict(zip(names, columns, strict=True))
    rows = range(first_row, first_row + len(columns[0]))
    try:
        properties = map(
            new_properties,
            _texts(found.get("content_type"), options.content_type),
            _texts(found.get("content_encoding")),
            repeat(_NO_HEADERS),
            repeat(options.persistent is not False),
            repeat(None),
            _texts(found.get("correlation_id")),
            _texts(found.get("reply_to")),
            repeat(None),
            _ids(reader, found.get("message_id"), rows),
            repeat(None),
            _texts(found.get("type")),
            repeat(None),
            _texts(found.get("app_id")),
        )
        exchanges = _address(found.get("exchange"), options.exchange)
        keys = _address(found.get("routing_key"), options.routing_key)
        bodies = _bodies(found["body"], options.max_message_bytes)
    except _Doubt:
        return None
    return list(map(new_message, exchanges, keys, bodies, properties, repeat(True)))


def _bodies(column: Sequence[Any], bytes_max: int) -> Sequence[bytes]:
    if None in column:
        raise _Doubt
    bodies = [body.encode() for body in column] if column and type(column[0]) is str else column
    if max(map(len, bodies), default=0) > bytes_max:
        raise _Doubt
    return bodies


def _ids(reader: RowReader, column: Sequence[str | None] | None, rows: range) -> Texts:
    given = _texts(column)
    match reader.columns.message_ids:
        case MessageIds.AUTO:
            return message_ids(reader.job_id, reader.partition, rows)
        case MessageIds.NONE:
            return repeat(None)
    if column is None or None in column:
        raise _Doubt
    return given


def _address(column: Sequence[str | None] | None, said: str | None) -> Iterable[Any]:
    """``said`` is the option's, which wins; what neither says is empty."""
    given = _texts(column, said)
    if said is None and column is None:
        return repeat("")
    if said is None and None in (column or ()):
        raise _Doubt
    return given


def _texts(column: Sequence[str | None] | None, said: str | None = None) -> Texts:
    longest = max(map(len, filter(None, column or ())), default=0)
    if longest * CHARACTER_BYTES_MAX > SHORT_STRING_BYTES_MAX:
        raise _Doubt
    return repeat(said) if said is not None or column is None else column
