"""Content properties between mqkit and pika, without loss where AMQP 0-9-1 has a place for them.

Two limits are pika's own (its ``data`` module): it refuses to encode a float in headers, and it
reads a double as its whole part. Send such values as text or Decimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pika import BasicProperties

from mqkit.message import Properties

TRANSIENT = 1
PERSISTENT = 2


def to_pika(properties: Properties) -> BasicProperties:
    """The properties as pika writes them. Empty headers are not sent."""
    expiration_ms = properties.expiration_ms
    timestamp = properties.timestamp
    return BasicProperties(
        content_type=properties.content_type,
        content_encoding=properties.content_encoding,
        headers=plain(properties.headers) if properties.headers else None,
        delivery_mode=PERSISTENT if properties.persistent else TRANSIENT,
        priority=properties.priority,
        correlation_id=properties.correlation_id,
        reply_to=properties.reply_to,
        expiration=None if expiration_ms is None else str(expiration_ms),
        message_id=properties.message_id,
        timestamp=None if timestamp is None else int(timestamp.timestamp()),
        type=properties.type,
        user_id=properties.user_id,
        app_id=properties.app_id,
    )


def from_pika(properties: BasicProperties) -> Properties:
    """The properties of a message that arrived."""
    expiration = properties.expiration
    return Properties(
        content_type=properties.content_type,
        content_encoding=properties.content_encoding,
        headers=properties.headers or {},
        persistent=properties.delivery_mode == PERSISTENT,
        priority=properties.priority,
        correlation_id=properties.correlation_id,
        reply_to=properties.reply_to,
        expiration_ms=int(expiration) if expiration and expiration.isdecimal() else None,
        message_id=properties.message_id,
        timestamp=_moment(properties.timestamp),
        type=properties.type,
        user_id=properties.user_id,
        app_id=properties.app_id,
    )


def plain(value: Any) -> Any:
    """pika knows ``dict`` and ``list`` only, not every mapping and tuple."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _moment(seconds: int | None) -> datetime | None:
    """``None`` too for a number that is no date: a peer may send any 64 bits."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
