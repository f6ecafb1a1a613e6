"""Dicts to field tables. What a type becomes on the wire: see :mod:`mqkit.wire.field_type`.

Integers become ``I`` where they fit and ``l`` else, as most of RabbitMQ's clients have it; floats
become ``d``; :class:`Typed` chooses another tag.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from mqkit.wire.errors import EncodeError
from mqkit.wire.field_type import FLOATS, INTEGERS, MAX_TABLE_DEPTH, NAMES, SizedInt, Typed
from mqkit.wire.strings import LENIENT, encode_longstr, encode_shortstr

_MIN_INT32, _MAX_INT32 = -(2**31), 2**31 - 1
_MAX_SCALE = 255
_MAX_EXPONENT = 9  # 10 ** 10 is beyond 32 bits; also keeps 10 ** exponent small
_DECIMAL = struct.Struct(">Bi")
_TIMESTAMP = struct.Struct(">Q")


def encode_table(table: Mapping[str, Any]) -> bytes:
    """Four octets of length, then the entries in the mapping's order.

    Raises :exc:`EncodeError` for a key above 255 bytes, a value of a type that tables don't have
    or that is out of its type's range (of floats and decimals, NaN and the infinities are), and for
    nesting beyond ``MAX_TABLE_DEPTH``.
    """
    return _encode_table(table, 1)


def table_type_name(value: object) -> str:
    """RabbitMQ's name of the type that ``value`` has on the wire: ``signedint``, ``longstr``, ...

    Raises :exc:`EncodeError` if it has none.
    """
    return NAMES[tag_of(value)]


def encode_timestamp(value: datetime | int) -> bytes:
    """Whole seconds since 1970 (an ``int`` is that already); a naive datetime is taken as UTC."""
    if isinstance(value, datetime):
        # Far from now a float has no place for microseconds: they would round a second up.
        moment = value.replace(microsecond=0, tzinfo=value.tzinfo or UTC)
        value = int(moment.timestamp())
    try:
        return _TIMESTAMP.pack(value)
    except struct.error as error:
        raise EncodeError(f"not a timestamp: {value!r:.80}") from error


def _encode_table(table: Mapping[str, Any], depth: int) -> bytes:
    if depth > MAX_TABLE_DEPTH:
        raise EncodeError(f"tables nested deeper than {MAX_TABLE_DEPTH}")
    if not isinstance(table, Mapping):
        raise EncodeError(f"not a table: {table!r:.80}")
    parts = []
    for name, value in table.items():
        parts.append(encode_shortstr(name, LENIENT))
        parts.append(_encode_value(value, depth))
    return encode_longstr(b"".join(parts))


def _encode_array(values: list[Any] | tuple[Any, ...], depth: int) -> bytes:
    if depth > MAX_TABLE_DEPTH:
        raise EncodeError(f"arrays nested deeper than {MAX_TABLE_DEPTH}")
    return encode_longstr(b"".join(_encode_value(value, depth) for value in values))


def tag_of(value: object) -> str:
    """The tag that a value is sent under."""
    match value:
        case Typed(tag=tag) if tag in NAMES:
            return tag
        case bool():
            return "t"
        case SizedInt():
            return value.tag
        case int():
            return "I" if _MIN_INT32 <= value <= _MAX_INT32 else "l"
        case str():
            return "S"
        case None:
            return "V"
        case float():
            return "d"
        case Mapping():
            return "F"
        case list() | tuple():
            return "A"
        case bytes() | bytearray() | memoryview():
            return "x"
        case datetime():
            return "T"
        case Decimal():
            return "D"
    raise EncodeError(f"a field table has no type for {value!r:.80} ({type(value).__name__})")


def _encode_value(value: Any, depth: int) -> bytes:
    tag = tag_of(value)
    plain = value.value if isinstance(value, Typed) else value
    try:
        return tag.encode() + _encode_as(tag, plain, depth)
    except (AttributeError, TypeError, UnicodeEncodeError, struct.error, OverflowError) as error:
        raise EncodeError(f"{plain!r:.80} is no {NAMES[tag]}: {error}") from error


def _encode_as(tag: str, value: Any, depth: int) -> bytes:
    match tag:
        case "S":
            return encode_longstr(value if isinstance(value, bytes) else value.encode())
        case "t":
            return b"\x01" if value else b"\x00"
        case "V":
            return b""
        case "F":
            return _encode_table(value, depth + 1)
        case "A":
            return _encode_array(value, depth + 1)
        case "T":
            return encode_timestamp(value)
        case "D":
            return _encode_decimal(value)
        case "x":
            return encode_longstr(value)
        case "d" | "f":
            return _encode_float(FLOATS[tag], value)
    return INTEGERS[tag].pack(value)


def _encode_float(layout: struct.Struct, value: float) -> bytes:
    if not math.isfinite(value):
        raise EncodeError(f"{value} is not a finite number: RabbitMQ ends a connection for it")
    return layout.pack(value)


def _encode_decimal(value: Decimal) -> bytes:
    """One octet of scale, then the unscaled value in 32 bits."""
    sign, digits, exponent = value.as_tuple()
    if isinstance(exponent, str) or not -_MAX_SCALE <= exponent <= _MAX_EXPONENT:
        raise EncodeError(f"{value} does not fit a decimal")
    unscaled = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    return _DECIMAL.pack(max(-exponent, 0), -unscaled if sign else unscaled)
