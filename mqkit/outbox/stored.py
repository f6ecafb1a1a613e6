"""A message as the columns of a row, and back. Pure.

``properties`` is a JSON object of the properties that are set, by their names in
:class:`mqkit.Properties`; ``timestamp`` in seconds since 1970; ``persistent`` and ``mandatory``
only where they are false. ``headers`` keep the types of AMQP
(:mod:`mqkit.lots.archive.header_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mqkit.errors import ConfigurationError
from mqkit.lots.archive.header_json import table_from_json, table_to_json
from mqkit.message import IDEMPOTENCY_KEY, Message, Properties
from mqkit.outbox.partition import partition_of
from mqkit.publishing.message_ids import new_message_id
from mqkit.publishing.message_options import short_string
from mqkit.wire import EncodeError

_TEXTS = (
    *("content_type", "content_encoding", "correlation_id", "reply_to"),
    *("type", "user_id", "app_id"),
)
_NUMBERS = ("priority", "expiration_ms")
_NAMES = frozenset({*_TEXTS, *_NUMBERS, "timestamp", "persistent", "mandatory"})


class NoMessage(ValueError):
    """The columns of a row make no message; the text says why."""


def columns_of(message: Message, ordering_key: str | None) -> dict[str, Any]:
    """The columns of a new row. Raises :exc:`~mqkit.errors.ConfigurationError` for what AMQP or a
    database has no place for."""
    properties = message.properties
    message_id = _text("message_id", properties.message_id) or new_message_id()
    for name in _TEXTS:
        _text(name, getattr(properties, name))
    try:
        headers = table_to_json({IDEMPOTENCY_KEY: message_id, **properties.headers})
    except EncodeError as error:
        raise ConfigurationError(f"headers: {error}") from None
    if ordering_key is not None:
        _storable("ordering_key", ordering_key)
    return {
        "exchange": _short_text("exchange", message.exchange),
        "routing_key": _short_text("routing_key", message.routing_key),
        "body": message.body,
        "octets": len(message.body),
        "message_id": message_id,
        "properties": _properties_to_json(message),
        "headers": headers,
        "ordering_key": ordering_key,
        "partition": partition_of(ordering_key, message_id),
    }


def message_of(row: Mapping[str, Any]) -> Message:
    """The message of a row. Raises :exc:`NoMessage` for a row that somebody else has written, and
    that makes none."""
    shown = row["properties"]
    if not isinstance(shown, dict) or not shown.keys() <= _NAMES:
        raise NoMessage(f"its properties are {shown!r:.80}")
    given = dict(shown)
    mandatory = given.pop("mandatory", True)
    for name, value in given.items():
        if not _fits(name, value):
            raise NoMessage(f"its property {name} is {value!r:.80}")
    if "timestamp" in given:
        given["timestamp"] = datetime.fromtimestamp(given["timestamp"], UTC)
    try:
        headers = table_from_json(row["headers"])
    except ValueError as error:
        raise NoMessage(str(error)) from None
    properties = Properties(message_id=row["message_id"], headers=headers, **given)
    return Message(row["exchange"], row["routing_key"], row["body"], properties, bool(mandatory))


def _properties_to_json(message: Message) -> dict[str, Any]:
    properties = message.properties
    shown: dict[str, Any] = {
        name: value
        for name in (*_TEXTS, *_NUMBERS)
        if (value := getattr(properties, name)) is not None
    }
    if properties.timestamp is not None:
        shown["timestamp"] = int(properties.timestamp.timestamp())
    if not properties.persistent:
        shown["persistent"] = False
    if not message.mandatory:
        shown["mandatory"] = False
    return shown


def _fits(name: str, value: object) -> bool:
    if name in _TEXTS:
        return isinstance(value, str)
    if name == "persistent":
        return isinstance(value, bool)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(name: str, text: str | None) -> str | None:
    return None if text is None else _short_text(name, text)


def _short_text(name: str, text: str) -> str:
    short_string(name, text)
    return _storable(name, text)


def _storable(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ConfigurationError(f"{name}={text!r:.80}: expected a text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"{name}={text!r:.80}: UTF-8 can't carry it") from None
    if "\0" in text:
        raise ConfigurationError(f"{name}={text!r:.80}: a database has no place for a NUL in text")
    return text
