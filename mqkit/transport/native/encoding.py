"""A publish as frames, in one pass: this is done for every message.

method frame (kept) | header frame                    | body frame
                    | prefix, properties, end octet ..|.. type, channel, size, body, end octet
"""

from __future__ import annotations

import struct
from functools import lru_cache

from mqkit.message import Message, Properties
from mqkit.wire import (
    FRAME_END,
    FRAME_OVERHEAD,
    LENIENT,
    ClassId,
    EncodeError,
    FrameType,
    body_frames,
    encode_shortstr,
    encode_table,
    method_frame,
    methods,
)
from mqkit.wire.field_table_encoder import encode_timestamp

PUBLISH_FRAMES_KEPT = 1024
"""A program publishes to few (exchange, routing key) pairs at a time."""

TEXTS_KEPT = 256
"""Content types, encodings, types and application ids repeat; other properties do not."""

_HEADER_START = struct.Struct(">BHLHHQH")
"""A header frame's start: type, channel, size; class id, weight, body size, flags."""
_PREFIX_OCTETS = 14
"""Those of the seven that belong to the frame's payload."""
_BODY_START = struct.Struct(">BBHL")
"""The header frame's end octet, and the body frame's type, channel and size."""
_END = bytes((FRAME_END,))

_CONTENT_TYPE, _CONTENT_ENCODING, _HEADERS, _DELIVERY_MODE = 1 << 15, 1 << 14, 1 << 13, 1 << 12
_PRIORITY, _CORRELATION_ID, _REPLY_TO, _EXPIRATION = 1 << 11, 1 << 10, 1 << 9, 1 << 8
_MESSAGE_ID, _TIMESTAMP, _TYPE, _USER_ID, _APP_ID = 1 << 7, 1 << 6, 1 << 5, 1 << 4, 1 << 3
_TRANSIENT, _PERSISTENT = b"\x01", b"\x02"


def append_publish(out: list[bytes], message: Message, channel: int, frame_max: int) -> int:
    """Append the frames of one ``basic.publish`` to ``out``; returns how many octets they are.

    Raises :exc:`EncodeError`, with nothing appended, when AMQP can't carry the message.
    """
    method = _publish_frame(channel, message.exchange, message.routing_key, message.mandatory)
    flags, properties = _encode_properties(message.properties)
    body = message.body
    size = len(body)
    header_octets = _PREFIX_OCTETS + len(properties)
    if header_octets + FRAME_OVERHEAD > frame_max:
        raise EncodeError(f"properties of {header_octets} octets do not fit into one frame")
    start = _HEADER_START.pack(
        FrameType.HEADER, channel, header_octets, ClassId.BASIC, 0, size, flags
    )
    if 0 < size <= frame_max - FRAME_OVERHEAD:
        body_start = _BODY_START.pack(FRAME_END, FrameType.BODY, channel, size)
        out += (method, start, properties, body_start, body, _END)
        return len(method) + header_octets + size + 2 * FRAME_OVERHEAD
    bodies = body_frames(channel, body, frame_max)
    out += (method, start, properties, _END, *bodies)
    return len(method) + header_octets + FRAME_OVERHEAD + sum(map(len, bodies))


@lru_cache(maxsize=PUBLISH_FRAMES_KEPT)
def _publish_frame(channel: int, exchange: str, routing_key: str, mandatory: bool) -> bytes:
    publish = methods.BasicPublish(exchange=exchange, routing_key=routing_key, mandatory=mandatory)
    return method_frame(channel, publish)


@lru_cache(maxsize=TEXTS_KEPT)
def _kept_text(text: str) -> bytes:
    return encode_shortstr(text, LENIENT)


def _encode_properties(properties: Properties) -> tuple[int, bytes]:
    """The flags and the octets, in the order of the flags. Raises :exc:`EncodeError`."""
    flags = _DELIVERY_MODE
    parts = []
    if properties.content_type is not None:
        flags |= _CONTENT_TYPE
        parts.append(_kept_text(properties.content_type))
    if properties.content_encoding is not None:
        flags |= _CONTENT_ENCODING
        parts.append(_kept_text(properties.content_encoding))
    if properties.headers:
        flags |= _HEADERS
        parts.append(encode_table(properties.headers))
    parts.append(_PERSISTENT if properties.persistent else _TRANSIENT)
    if properties.priority is not None:
        flags |= _PRIORITY
        parts.append(_octet(properties.priority))
    if properties.correlation_id is not None:
        flags |= _CORRELATION_ID
        parts.append(encode_shortstr(properties.correlation_id, LENIENT))
    if properties.reply_to is not None:
        flags |= _REPLY_TO
        parts.append(encode_shortstr(properties.reply_to, LENIENT))
    if properties.expiration_ms is not None:
        flags |= _EXPIRATION
        parts.append(_kept_text(str(properties.expiration_ms)))
    if properties.message_id is not None:
        flags |= _MESSAGE_ID
        parts.append(encode_shortstr(properties.message_id, LENIENT))
    if properties.timestamp is not None:
        flags |= _TIMESTAMP
        parts.append(encode_timestamp(properties.timestamp))
    if properties.type is not None:
        flags |= _TYPE
        parts.append(_kept_text(properties.type))
    if properties.user_id is not None:
        flags |= _USER_ID
        parts.append(_kept_text(properties.user_id))
    if properties.app_id is not None:
        flags |= _APP_ID
        parts.append(_kept_text(properties.app_id))
    return flags, b"".join(parts)


def _octet(value: int) -> bytes:
    try:
        return value.to_bytes(1, "big")
    except (AttributeError, OverflowError) as error:
        raise EncodeError(f"property priority: not an octet: {value!r:.80}") from error
