"""Rows into messages. Pure: columns in, messages and bad rows out.

The body and the properties of row *n* of partition *p* depend on that row, the options, the job's
id, *p* and *n* only; so a task that runs again publishes the same messages under the same ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mqkit.message import Message, Properties
from mqkit_spark.columns import header_limits
from mqkit_spark.columns.header_types import is_text_only
from mqkit_spark.columns.schema import Columns
from mqkit_spark.columns.values import Unreadable
from mqkit_spark.options import MessageIds, SinkOptions
from mqkit_spark.options.checks import SHORT_STRING_BYTES_MAX

PRIORITY_MAX = 255
"""The priority property is one octet (AMQP 0-9-1, basic class)."""

EXPIRATION_MS_MAX = 315_360_000_000
"""Ten years: for a longer TTL a broker closes the channel, with all that is in flight on it."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""AMQP's timestamps count from here, and are not negative."""

_SHORT_STRINGS = (
    "exchange",
    "routing_key",
    "message_id",
    "content_type",
    "content_encoding",
    "correlation_id",
    "reply_to",
    "type",
    "app_id",
)


DEDUPLICATION_HEADER = "x-deduplication-header"
"""The header by which RabbitMQ's message deduplication plugin tells duplicates; the reference
broker's ``x-message-id-window`` goes by the message id itself."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that can't be a message: its number in the partition, from 0, and why.

    ``remains`` is as much of it as AMQP can carry, for a dead letter: the body, unless it is null
    or too large, and of the address, the id and the content type each that is right.
    """

    row: int
    why: str
    remains: Message


def message_id(job_id: str, partition: int, row: int | str) -> str:
    """The automatic id of a row: the same in each attempt of its task."""
    return f"{job_id}/{partition}/{row}"


def message_ids(job_id: str, partition: int, rows: range) -> list[str]:
    """The automatic ids of rows that follow each other."""
    before = message_id(job_id, partition, "")
    return [f"{before}{row}" for row in rows]


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of one partition."""

    options: SinkOptions
    columns: Columns
    job_id: str
    partition: int

    def read(self, columns: Sequence[Sequence[Any]], first_row: int) -> Iterator[Message | BadRow]:
        """The rows of one batch, given as one sequence of values per column."""
        names = self.columns.names
        for row, values in enumerate(zip(*columns, strict=True), start=first_row):
            yield self._message(dict(zip(names, values, strict=True)), row)

    def _message(self, value: Mapping[str, Any], row: int) -> Message | BadRow:
        options = self.options
        why = _fault(value, options)
        if why is not None:
            return BadRow(row, why, self._remains(value, row))
        body = _bytes(value["body"])
        try:
            headers = self._headers(value)
        except ValueError as error:
            return BadRow(row, f"headers: {error}", self._remains(value, row))
        if self.columns.message_ids is MessageIds.AUTO:
            identity: str | None = message_id(self.job_id, self.partition, row)
        elif self.columns.message_ids is MessageIds.COLUMN:
            identity = value["message_id"]
            if identity is None:
                return BadRow(row, "message_id is null", self._remains(value, row))
        else:
            identity = None
        exchange = options.exchange
        routing_key = options.routing_key
        content_type = options.content_type
        if options.dedup:
            headers.setdefault(DEDUPLICATION_HEADER, identity)
        properties = Properties(
            content_type=value.get("content_type") if content_type is None else content_type,
            content_encoding=value.get("content_encoding"),
            headers=headers,
            persistent=self._is_persistent(value),
            priority=value.get("priority"),
            correlation_id=value.get("correlation_id"),
            reply_to=value.get("reply_to"),
            expiration_ms=value.get("expiration_ms"),
            message_id=identity,
            timestamp=_moment(value.get("timestamp")),
            type=value.get("type"),
            app_id=value.get("app_id"),
        )
        return Message(
            value.get("exchange") or "" if exchange is None else exchange,
            value.get("routing_key") or "" if routing_key is None else routing_key,
            body,
            properties,
        )

    def _headers(self, value: Mapping[str, Any]) -> dict[str, Any]:
        kind = self.columns.headers
        given = value.get("headers")
        if kind is None or not given:
            return {}
        headers: dict[str, Any] = kind.to_amqp(given)
        if not (is_text_only(kind) and header_limits.is_surely_short(headers)):
            header_limits.check(headers)
        return headers

    def _is_persistent(self, value: Mapping[str, Any]) -> bool:
        """The option, else the column; persistent where neither says anything."""
        if self.options.persistent is not None:
            return self.options.persistent
        return value.get("persistent") is not False

    def _remains(self, value: Mapping[str, Any], row: int) -> Message:
        def text(name: str) -> str | None:
            found = value.get(name)
            return found if isinstance(found, str) and not _is_too_long(found) else None

        options = self.options
        body = value["body"]
        carried = isinstance(body, str | bytes) and not _is_too_large(body, options)
        is_auto = self.columns.message_ids is MessageIds.AUTO
        return Message(
            text("exchange") or "" if options.exchange is None else options.exchange,
            text("routing_key") or "" if options.routing_key is None else options.routing_key,
            _bytes(body) if carried else b"",
            Properties(
                content_type=options.content_type or text("content_type"),
                content_encoding=text("content_encoding"),
                message_id=(
                    message_id(self.job_id, self.partition, row) if is_auto else text("message_id")
                ),
            ),
        )


def _fault(value: Mapping[str, Any], options: SinkOptions) -> str | None:
    """The reason why the row can't be a message; ``None`` when it can."""
    for name, each in value.items():
        if type(each) is Unreadable:
            return f"{name} has {each.why}"
    body = value["body"]
    if body is None:
        return "body is null"
    if _is_too_large(body, options):
        size = len(_bytes(body))
        return f"body has {size} bytes, more than maxMessageBytes ({options.max_message_bytes})"
    for name in _SHORT_STRINGS:
        text = value.get(name)
        if text and _is_too_long(text):
            return f"{name} is longer than {SHORT_STRING_BYTES_MAX} bytes"
    priority = value.get("priority")
    if priority is not None and not 0 <= priority <= PRIORITY_MAX:
        return f"priority is not from 0 to {PRIORITY_MAX}"
    expiration_ms = value.get("expiration_ms")
    if expiration_ms is not None and not 0 <= expiration_ms <= EXPIRATION_MS_MAX:
        return f"expiration_ms is not from 0 to {EXPIRATION_MS_MAX}"
    timestamp = _moment(value.get("timestamp"))
    if timestamp is not None and timestamp < EPOCH:
        return "timestamp is before 1970"
    if "routing_key" in value and options.routing_key is None and value["routing_key"] is None:
        return "routing_key is null"
    if "exchange" in value and options.exchange is None and value["exchange"] is None:
        return "exchange is null"
    return None


def _is_too_large(body: str | bytes, options: SinkOptions) -> bool:
    return len(body) > options.max_message_bytes or (
        isinstance(body, str) and len(body.encode()) > options.max_message_bytes
    )


def _is_too_long(text: str) -> bool:
    """Encodes only what might be too long: a character has at most 4 bytes in UTF-8."""
    return 4 * len(text) > SHORT_STRING_BYTES_MAX and len(text.encode()) > SHORT_STRING_BYTES_MAX


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def _moment(moment: datetime | None) -> datetime | None:
    """Arrow gives Spark's timestamps with the session's time zone; one without is UTC."""
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=UTC)
