"""A publish as frames, in one pass: this is done for every message.

method frame (kept) | header frame                    | body frame
                    | prefix, properties, end octet ..|.. type, channel, size, body, end octet
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from mqkit.message import Message, Properties
from mqkit.transport.native.exact import ExactProperties
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
from mqkit.wire.spec import MAX_SHORTSTR_SIZE

PUBLISH_FRAMES_KEPT = 1024
"""A program publishes to few (exchange, routing key) pairs at a time."""

TEXTS_KEPT = 256
"""Content types, encodings, types and application ids repeat; other properties do not."""

# Members of an enum take ten times as long to pack as what they stand for.
_HEADER, _BODY, _BASIC = int(FrameType.HEADER), int(FrameType.BODY), int(ClassId.BASIC)
_header_start = struct.Struct(">BHLHHQH").pack
"""A header frame's start: type, channel, size; class id, weight, body size, flags."""
_PREFIX_OCTETS = 14
"""The octets of that start that belong to the frame's payload: class id, weight, size and flags."""
_BODY_SIZE_AT, _BODY_SIZE_OCTETS = 11, 8
"""The place of the body size in that start."""
_body_start = struct.Struct(">BBHL").pack
"""The header frame's end octet, and the body frame's type, channel and size."""
_END = bytes((FRAME_END,))

_CONTENT_TYPE, _CONTENT_ENCODING, _HEADERS, _DELIVERY_MODE = 1 << 15, 1 << 14, 1 << 13, 1 << 12
_PRIORITY, _CORRELATION_ID, _REPLY_TO, _EXPIRATION = 1 << 11, 1 << 10, 1 << 9, 1 << 8
_MESSAGE_ID, _TIMESTAMP, _TYPE, _USER_ID, _APP_ID = 1 << 7, 1 << 6, 1 << 5, 1 << 4, 1 << 3
_TRANSIENT, _PERSISTENT = b"\x01", b"\x02"


Refused: TypeAlias = tuple[int, EncodeError]
"""The position of a message that AMQP can't carry, and why: nothing was appended of it."""


def append_publishes(
    out: list[bytes],
    messages: Sequence[Message],
    start: int,
    channel: int,
    frame_max: int,
    octets_max: int,
) -> tuple[int, int, list[Refused]]:
    """Append the frames of messages from ``start`` on to ``out``, until ``octets_max`` are appended
    or none is left. Returns the position after the last one, how many octets they are, and what was
    left out.

    Those that follow each other mostly differ in message id and body only. What stands before the
    id is kept then, and what stands between the two, as long as neither gets longer or shorter.
    """
    refused: list[Refused] = []
    before: Message | None = None
    lead = trail = body_lead = head = between = b""
    id_size = body_size = -1
    octets, position, end = 0, start, len(messages)
    while position < end and octets < octets_max:
        message = messages[position]
        if before is not None and _is_like(before, message, frame_max):
            body, message_id = message.body, message.properties.message_id or ""
            if len(message_id) != id_size:
                id_size, body_size = len(message_id), -1
                lead, trail, body_lead = _around_sizes(message, channel)
            if len(body) != body_size:
                body_size = len(body)
                head = lead + body_size.to_bytes(8, "big") + trail
                between = body_lead + body_size.to_bytes(4, "big")
            out += (head, message_id.encode(), between, body, _END)
            octets += len(head) + id_size + len(between) + body_size + 1
        else:
            try:
                octets += append_publish(out, message, channel, frame_max)
            except EncodeError as error:
                refused.append((position, error))
            else:
                plain = type(message.properties) is not ExactProperties
                before, id_size = message if plain else None, -1
        position += 1
    return position, octets, refused


def append_publish(out: list[bytes], message: Message, channel: int, frame_max: int) -> int:
    """Append the frames of one ``basic.publish`` to ``out``; returns how many octets they are.

    Raises :exc:`EncodeError`, with nothing appended, when AMQP can't carry the message.
    """
    try:
        method = _publish_frame(channel, message.exchange, message.routing_key, message.mandatory)
        flags, properties = _encode_properties(message.properties)
    except TypeError as error:  # a list in the place of a text: what is kept can't be looked up
        raise EncodeError(f"not a message's texts and numbers: {error}") from error
    body = message.body
    if type(body) is not bytes:
        body = _octets(body)
    size = len(body)
    header_octets = _PREFIX_OCTETS + len(properties)
    if header_octets + FRAME_OVERHEAD > frame_max:
        raise EncodeError(f"properties of {header_octets} octets do not fit into one frame")
    start = _header_start(_HEADER, channel, header_octets, _BASIC, 0, size, flags)
    if 0 < size <= frame_max - FRAME_OVERHEAD:
        body_start = _body_start(FRAME_END, _BODY, channel, size)
        out += (method, start, properties, body_start, body, _END)
        return len(method) + header_octets + size + 2 * FRAME_OVERHEAD
    bodies = body_frames(channel, body, frame_max)
    out += (method, start, properties, _END, *bodies)
    return len(method) + header_octets + FRAME_OVERHEAD + sum(map(len, bodies))


def _is_like(before: Message, message: Message, frame_max: int) -> bool:
    """True if ``message`` differs from ``before`` in message id and body only, has both, and few
    other properties. ``before`` has been encoded already."""
    own, others, body = message.properties, before.properties, message.body
    message_id = own.message_id
    return (
        message.routing_key == before.routing_key
        and message.exchange == before.exchange
        and message.mandatory is before.mandatory
        and type(own) is not ExactProperties
        and own.content_type == others.content_type
        and own.persistent is others.persistent
        and not own.headers
        and own.content_encoding is None
        and own.priority is None
        and own.correlation_id is None
        and own.reply_to is None
        and own.expiration_ms is None
        and own.timestamp is None
        and own.type is None
        and own.user_id is None
        and own.app_id is None
        and type(message_id) is str
        and len(message_id) <= MAX_SHORTSTR_SIZE
        and message_id.isascii()
        and type(body) is bytes
        and 0 < len(body) <= frame_max - FRAME_OVERHEAD
    )


def _around_sizes(message: Message, channel: int) -> tuple[bytes, bytes, bytes]:
    """Three pieces of the frames: all before the body's size in the header frame; between that and
    the message id, which is the last property; and between the id and the size of the body
    frame."""
    method = _publish_frame(channel, message.exchange, message.routing_key, message.mandatory)
    flags, properties = _encode_properties(message.properties)
    start = _header_start(_HEADER, channel, _PREFIX_OCTETS + len(properties), _BASIC, 0, 0, flags)
    id_at = len(properties) - len(message.properties.message_id or "")
    lead, trail = start[:_BODY_SIZE_AT], start[_BODY_SIZE_AT + _BODY_SIZE_OCTETS :]
    return method + lead, trail + properties[:id_at], _body_start(FRAME_END, _BODY, channel, 0)[:-4]


@lru_cache(maxsize=PUBLISH_FRAMES_KEPT)
def _publish_frame(channel: int, exchange: str, routing_key: str, mandatory: bool) -> bytes:
    publish = methods.BasicPublish(exchange=exchange, routing_key=routing_key, mandatory=mandatory)
    return method_frame(channel, publish)


@lru_cache(maxsize=TEXTS_KEPT)
def _kept_text(text: str) -> bytes:
    return encode_shortstr(text, LENIENT)


def _encode_properties(properties: Properties) -> tuple[int, bytes]:
    """The flags and the octets, in the order of the flags. Raises :exc:`EncodeError`."""
    if type(properties) is ExactProperties:
        return properties.flags_and_list()
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


def _octets(body: object) -> bytes:
    """A body of another type. What joins the frames later would fail for all of them."""
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise EncodeError(f"a body is bytes, not {type(body).__name__}")
    return bytes(body)


def _octet(value: int) -> bytes:
    try:
        return value.to_bytes(1, "big")
    except (AttributeError, OverflowError) as error:
        raise EncodeError(f"property priority: not an octet: {value!r:.80}") from error
