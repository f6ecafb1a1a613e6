"""Content headers: the size of a body, and the properties of the ``basic`` class.

    0          2        4           12
    +----------+--------+-----------+-------+- - - - - - -+
    | class id | weight | body size | flags | properties  |      the payload of a header frame
    +----------+--------+-----------+-------+- - - - - - -+
       short     short    longlong    short   in the order of the flags

The highest flag is the first property's; a property whose flag is not set takes no octets. The two
lowest flags belong to none and are ignored, as RabbitMQ does (the last would announce more flags,
by section 4.2.6.1 of the specification, but no class has that many properties).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from mqkit.wire.errors import EncodeError, WireError
from mqkit.wire.field_table import decode_table, decode_tagged_table, decode_timestamp
from mqkit.wire.field_table_encoder import encode_table, encode_timestamp
from mqkit.wire.spec import ClassId, ReplyCode
from mqkit.wire.strings import LENIENT, decode_shortstr, encode_shortstr

HEADER_PREFIX = struct.Struct(">HHQH")
"""Class id, weight, body size and flags: what every content header starts with."""

PERSISTENT = 2
"""``delivery_mode`` of a message that survives a restart; 1, or none, does not."""

Encoder = Callable[[Any], bytes]
Decoder = Callable[[bytes | memoryview, int], tuple[Any, int]]


@dataclass(slots=True, kw_only=True)
class Properties:
    """The properties of a message. ``None`` is "not sent", which is not the same as empty.

    Texts whose octets are not UTF-8 hold lone surrogates (see :data:`mqkit.wire.strings.LENIENT`).
    ``timestamp`` is in whole seconds, UTC; an ``int`` if it is after the year 9999.
    ``expiration`` is milliseconds in decimal digits. ``cluster_id`` is deprecated.
    """

    content_type: str | None = None
    content_encoding: str | None = None
    headers: dict[str, Any] | None = None
    delivery_mode: int | None = None
    priority: int | None = None
    correlation_id: str | None = None
    reply_to: str | None = None
    expiration: str | None = None
    message_id: str | None = None
    timestamp: datetime | int | None = None
    type: str | None = None
    user_id: str | None = None
    app_id: str | None = None
    cluster_id: str | None = None


def encode_header(body_size: int, properties: Properties) -> bytes:
    """The payload of a header frame.

    Raises :exc:`EncodeError`, naming the property, when one does not fit.
    """
    flags = 0
    parts = []
    for name, flag, encode, _ in _FIELDS:
        value = getattr(properties, name)
        if value is None:
            continue
        flags |= flag
        try:
            parts.append(encode(value))
        except EncodeError as error:
            raise EncodeError(f"property {name}: {error}") from error
    try:
        prefix = HEADER_PREFIX.pack(ClassId.BASIC, 0, body_size, flags)
    except struct.error as error:
        raise EncodeError(f"not a body size: {body_size!r:.80}") from error
    return prefix + b"".join(parts)


def decode_header(payload: bytes | memoryview, *, exact: bool = False) -> tuple[int, Properties]:
    """The body's size and the properties in a header frame's payload. With ``exact``, the values
    of the headers keep their tags (:func:`~mqkit.wire.field_table.decode_tagged_table`).

    Raises :exc:`WireError`: 501 for a header that is cut short or of a class without content,
    502 for properties that can't be read.
    """
    body_size, values = decode_values(payload, exact=exact)
    return body_size, Properties(**dict(zip(_CODECS, values, strict=True)))


def decode_values(payload: bytes | memoryview, *, exact: bool = False) -> tuple[int, list[Any]]:
    """As :func:`decode_header`, with the bare values of the properties, in the order of the fields
    of :class:`Properties`: for who makes objects of a class of its own of them. Raises the same."""
    size = len(payload)
    if size < HEADER_PREFIX.size:
        raise WireError(ReplyCode.FRAME_ERROR, "content header is cut short")
    class_id, weight, body_size, flags = HEADER_PREFIX.unpack_from(payload)
    if class_id != _BASIC or weight != 0:
        text = f"content header of class {class_id} and weight {weight}"
        raise WireError(ReplyCode.FRAME_ERROR, text, class_id)
    values: list[Any] = [None] * len(_FIELDS)
    offset = HEADER_PREFIX.size
    try:
        for position, decode in _decoders_of(flags, exact):
            if decode is not None:
                values[position], offset = decode(payload, offset)
                continue
            # A short string, without the two calls that one costs: most properties are.
            start = offset + 1
            offset = start + payload[offset]
            if offset > size:
                raise WireError(ReplyCode.FRAME_ERROR, "short string is longer than what holds it")
            values[position] = str(payload[start:offset], "utf-8", LENIENT)
    except (struct.error, IndexError) as error:
        raise _broken("a property is cut short") from error
    if offset != size:
        raise _broken(f"{size - offset} octets too many")
    return body_size, values


def place_of(payload: bytes, name: str) -> slice | None:
    """The place of a property's octets in a header frame's payload; ``None`` where it was not sent.
    Only for a payload that :func:`decode_values` takes: what is before is passed over, not read."""
    _, _, _, flags = HEADER_PREFIX.unpack_from(payload)
    offset = HEADER_PREFIX.size
    for field, flag, _, decode in _FIELDS:
        if not flags & flag:
            continue
        stop = offset + _OCTETS_OF[decode](payload, offset)
        if field == name:
            return slice(offset, stop)
        offset = stop
    return None


def _broken(text: str) -> WireError:
    return WireError(ReplyCode.SYNTAX_ERROR, f"content header: {text}", ClassId.BASIC)


def _encode_octet(value: int) -> bytes:
    try:
        return struct.pack("B", value)
    except struct.error as error:
        raise EncodeError(f"not an octet: {value!r:.80}") from error


def _decode_octet(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    return data[offset], offset + 1


def _encode_text(text: str) -> bytes:
    return encode_shortstr(text, LENIENT)


def _decode_text(data: bytes | memoryview, offset: int) -> tuple[str, int]:
    return decode_shortstr(data, offset, LENIENT)


_TEXT = (_encode_text, _decode_text)
_OCTET = (_encode_octet, _decode_octet)

_CODECS: dict[str, tuple[Encoder, Decoder]] = {
    "content_type": _TEXT,
    "content_encoding": _TEXT,
    "headers": (encode_table, decode_table),
    "delivery_mode": _OCTET,
    "priority": _OCTET,
    "correlation_id": _TEXT,
    "reply_to": _TEXT,
    "expiration": _TEXT,
    "message_id": _TEXT,
    "timestamp": (encode_timestamp, decode_timestamp),
    "type": _TEXT,
    "user_id": _TEXT,
    "app_id": _TEXT,
    "cluster_id": _TEXT,
}

_OCTETS_OF: dict[Decoder, Callable[[bytes, int], int]] = {
    _decode_text: lambda data, at: 1 + data[at],
    _decode_octet: lambda data, at: 1,
    decode_table: lambda data, at: 4 + int.from_bytes(data[at : at + 4], "big"),
    decode_timestamp: lambda data, at: 8,
}
"""The octets that a value of each kind takes."""

_FIELDS = tuple(
    (name, 1 << (15 - position), encode, decode)
    for position, (name, (encode, decode)) in enumerate(_CODECS.items())
)


_BASIC = int(ClassId.BASIC)


@lru_cache(maxsize=256)
def _decoders_of(flags: int, exact: bool) -> tuple[tuple[int, Decoder | None], ...]:
    """Positions and decoders of the properties that ``flags`` announce; ``None`` is a text. Peers
    use a few combinations, over and over."""
    decoders: dict[Decoder, Decoder | None] = {_decode_text: None}
    if exact:
        decoders[decode_table] = decode_tagged_table
    return tuple(
        (position, decoders.get(decode, decode))
        for position, (_, flag, _, decode) in enumerate(_FIELDS)
        if flags & flag
    )
