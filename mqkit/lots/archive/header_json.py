"""Headers as JSON that keeps the types of AMQP. Pure.

A value that JSON has, and that goes out again under the tag that it came with, stands as it is:
text, numbers, ``true``, ``null``, lists, objects. Every other one is
``{"$amqp": TYPE, "value": V}`` with RabbitMQ's name of the type (:mod:`mqkit.wire.field_type`):

    byte, unsignedbyte, short, unsignedshort, unsignedint, signedint, long     V is a number
    float                      a number; the nearest float of 32 bits is meant
    decimal                    [scale, unscaled]
    timestamp                  seconds since 1970
    longstr, binary            base64; a longstr stands so if it is not UTF-8
    table                      [[name, V], ...] for a table that has a "$amqp" itself
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from mqkit.wire import EncodeError, SizedInt, Typed
from mqkit.wire.field_table_encoder import encode_timestamp, tag_of
from mqkit.wire.field_type import INTEGERS, NAMES

TYPE, VALUE = "$amqp", "value"
_TAGS = {name: tag for tag, name in NAMES.items()}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_SECONDS = int((datetime.max.replace(tzinfo=UTC) - _EPOCH).total_seconds()) - 1


def table_to_json(table: Mapping[str, Any]) -> dict[str, Any]:
    """A field table as a JSON object. Raises :exc:`~mqkit.wire.EncodeError` for a value that
    AMQP has not."""
    return {name: _to_json(value) for name, value in table.items()}


def table_from_json(table: object) -> dict[str, Any]:
    """The field table again. Raises ``ValueError`` for anything else."""
    if not isinstance(table, dict):
        raise ValueError("headers are no object")
    return {name: _from_json(value) for name, value in table.items()}


def _to_json(value: Any) -> Any:
    tag = tag_of(value)
    plain = value.value if isinstance(value, Typed) else value
    # SizedInt, and Typed, stand for tags that the plain value would not be sent with.
    if isinstance(value, Typed | SizedInt):
        return _typed(tag, _value_to_json(tag, plain))
    match tag:
        case "F":
            if TYPE in plain:
                return _typed("F", [[name, _to_json(each)] for name, each in plain.items()])
            return table_to_json(plain)
        case "A":
            return [_to_json(each) for each in plain]
        case "T" | "x" | "D":
            return _typed(tag, _value_to_json(tag, plain))
    return plain


def _typed(tag: str, value: Any) -> dict[str, Any]:
    return {TYPE: NAMES[tag], VALUE: value}


def _value_to_json(tag: str, value: Any) -> Any:
    match tag:
        case "T":
            return int.from_bytes(encode_timestamp(value), "big")
        case "S" | "x":
            octets = value.encode() if isinstance(value, str) else bytes(value)
            return base64.b64encode(octets).decode("ascii")
        case "D":
            sign, digits, exponent = value.as_tuple()
            unscaled = int("".join(map(str, digits)))
            return [-int(exponent), -unscaled if sign else unscaled]
    return int(value) if tag in INTEGERS else value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if TYPE not in value:
        return table_from_json(value)
    tag = _TAGS.get(str(value[TYPE]))
    if tag is None or value.keys() != {TYPE, VALUE}:
        raise ValueError(f"a header of an unknown type: {value[TYPE]!r:.80}")
    try:
        return _typed_from_json(tag, value[VALUE])
    except (TypeError, ValueError, ArithmeticError, EncodeError, binascii.Error):
        raise ValueError(f"a header that is no {NAMES[tag]}") from None


def _typed_from_json(tag: str, value: Any) -> Any:
    if tag in INTEGERS:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError
        return SizedInt(tag, value)
    match tag:
        case "S":
            return Typed("S", base64.b64decode(value, validate=True))
        case "x":
            return base64.b64decode(value, validate=True)
        case "T":
            seconds = int(value)
            if seconds > _MAX_SECONDS:
                return Typed("T", seconds)
            return _EPOCH + timedelta(seconds=seconds)
        case "D":
            scale, unscaled = map(int, value)
            digits = tuple(map(int, str(abs(unscaled))))
            return Decimal((int(unscaled < 0), digits, -scale))
        case "F":
            return {str(name): _from_json(each) for name, each in value}
    return Typed(tag, value)
