"""Messages to frames and frames to messages.

What comes in has been decoded by aiormq with pamqp. What goes out is encoded by :mod:`mqkit.wire`:
pamqp writes a float in 32 bits, and a header of 0.1 would arrive as 0.10000000149.

A content travels as one method frame, one header frame and as many body frames as it needs:

    +--------------+  +----------------+  +--------+     +--------+
    | publish or   |  | class, size,   |  | body   | ... | body   |
    | deliver ...  |  | properties     |  |        |     |        |
    +--------------+  +----------------+  +--------+     +--------+
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from aiormq import spec
from pamqp.base import Frame
from pamqp.header import ContentHeader

from mqkit.errors import ConfigurationError
from mqkit.message import Message, Properties
from mqkit.wire import (
    FRAME_OVERHEAD,
    EncodeError,
    body_frames,
    encode_header,
    header_frame,
    method_frame,
    methods,
)
from mqkit.wire import Properties as WireProperties

_TRANSIENT, _PERSISTENT = 1, 2

PUBLISH_FRAMES_CACHED = 1024
"""A program publishes to few (exchange, routing key) pairs at a time: keep their method frames."""


def content_frames(message: Message, channel: int, frame_octets_max: int) -> bytes:
    """The frames of one ``basic.publish``, ready for the socket.

    Raises :exc:`~mqkit.errors.ConfigurationError` when the message can't be encoded.
    """
    try:
        method = _publish_frame(channel, message.exchange, message.routing_key, message.mandatory)
        header = encode_header(len(message.body), _to_wire(message.properties))
        if len(header) + FRAME_OVERHEAD > frame_octets_max:
            raise EncodeError(f"properties of {len(header)} octets do not fit into one frame")
        body = body_frames(channel, message.body, frame_octets_max)
    except EncodeError as error:
        raise ConfigurationError(
            f"the message for exchange {message.exchange!r} can't be encoded: {error}"
        ) from None
    return b"".join((method, header_frame(channel, header), *body))


@lru_cache(maxsize=PUBLISH_FRAMES_CACHED)
def _publish_frame(channel: int, exchange: str, routing_key: str, mandatory: bool) -> bytes:
    publish = methods.BasicPublish(exchange=exchange, routing_key=routing_key, mandatory=mandatory)
    return method_frame(channel, publish)


def _to_wire(properties: Properties) -> WireProperties:
    expiration_ms = properties.expiration_ms
    return WireProperties(
        content_type=properties.content_type,
        content_encoding=properties.content_encoding,
        headers=dict(properties.headers) if properties.headers else None,
        delivery_mode=_PERSISTENT if properties.persistent else _TRANSIENT,
        priority=properties.priority,
        correlation_id=properties.correlation_id,
        reply_to=properties.reply_to,
        expiration=None if expiration_ms is None else str(expiration_ms),
        message_id=properties.message_id,
        timestamp=properties.timestamp,
        type=properties.type,
        user_id=properties.user_id,
        app_id=properties.app_id,
    )


def properties_from_wire(wire: spec.Basic.Properties) -> Properties:
    """Properties as received. A TTL that is no number was somebody else's mistake: left out."""
    expiration = wire.expiration
    headers = table_from_wire(wire.headers) if wire.headers else {}
    return Properties(
        content_type=wire.content_type,
        content_encoding=wire.content_encoding,
        headers=headers,
        persistent=wire.delivery_mode == _PERSISTENT,
        priority=wire.priority,
        correlation_id=wire.correlation_id,
        reply_to=wire.reply_to,
        expiration_ms=int(expiration) if expiration and expiration.isdecimal() else None,
        message_id=wire.message_id,
        timestamp=wire.timestamp if isinstance(wire.timestamp, datetime) else None,
        type=wire.message_type,
        user_id=wire.user_id,
        app_id=wire.app_id,
    )


def table_from_wire(table: Mapping[str, Any]) -> dict[str, Any]:
    """A field table in plain Python types: byte arrays come as ``bytes``."""
    return {key: _value_from_wire(value) for key, value in table.items()}


def _value_from_wire(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, dict):
        return table_from_wire(value)
    if isinstance(value, list):
        return [_value_from_wire(item) for item in value]
    return value


class Assembly:
    """A content on its way in: the method that announced it, then its header, then its body."""

    __slots__ = ("_chunks", "_missing", "header", "method")

    def __init__(self, method: Frame) -> None:
        self.method = method
        self.header: ContentHeader | None = None
        self._chunks: list[bytes] = []
        self._missing = 0

    def add_header(self, header: ContentHeader) -> bool:
        """True when that was all: the body is empty."""
        self.header = header
        self._missing = header.body_size
        return self._missing == 0

    def add_body(self, chunk: bytes) -> bool:
        """True when the body is complete."""
        self._chunks.append(chunk)
        self._missing -= len(chunk)
        return self._missing <= 0

    @property
    def body(self) -> bytes:
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    @property
    def properties(self) -> Properties:
        wire = self.header.properties if self.header is not None else None
        return properties_from_wire(wire) if wire is not None else Properties(persistent=False)
