"""Field tables to dicts, with a bound for everything that a peer chooses.

            0        4                4 + length
            +--------+----------------+
    table   | length | entries        |      length counts the octets of the entries
            +--------+----------------+
               long

            +----------+-------+- - - - +
    entry   | name     | tag   | value  |    an array's entries have no names
            +----------+-------+- - - - +
              shortstr   octet

Tags and what follows them: :mod:`mqkit.wire.field_type`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from mqkit.wire.errors import WireError
from mqkit.wire.field_table_encoder import tag_of
from mqkit.wire.field_type import (
    FLOATS,
    INTEGERS,
    MAX_TABLE_DEPTH,
    MAX_TABLE_ITEMS,
    SizedInt,
    Typed,
)
from mqkit.wire.spec import ReplyCode
from mqkit.wire.strings import LENIENT, decode_longstr, decode_shortstr

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_TIMESTAMP_S = int((datetime.max.replace(tzinfo=UTC) - _EPOCH).total_seconds()) - 1
_TIMESTAMP = struct.Struct(">Q")
_DECIMAL = struct.Struct(">Bi")


def decode_table(
    data: bytes | memoryview, offset: int = 0, *, exact: bool = False
) -> tuple[dict[str, Any], int]:
    """The table at ``offset``, and the offset after it.

    Of entries with the same name the first counts, as in RabbitMQ. With ``exact``, a value that
    :func:`encode_table` would send under another tag comes as :class:`Typed`, so that decoding and
    encoding again changes nothing (a 64-bit 5 stays one): for who rewrites other people's headers.

    Raises :exc:`WireError` (502) for a table that is cut short, has a value of an unknown type or a
    float that is not finite, or crosses ``MAX_TABLE_DEPTH`` or ``MAX_TABLE_ITEMS``.
    """
    return _read(_TableReader(data, Typed if exact else None), offset, len(data))


def decode_sized_table(data: bytes | memoryview, offset: int = 0) -> tuple[dict[str, Any], int]:
    """:func:`decode_table`, with a :class:`SizedInt` for each integer whose tag is not the one that
    it would be sent with: for who has to tell, or keep, what was declared. Raises the same."""
    return _read(_TableReader(data, _sized), offset, len(data))


def decode_tagged_table(data: bytes | memoryview, offset: int = 0) -> tuple[dict[str, Any], int]:
    """:func:`decode_table` with ``exact``, but integers come as :class:`SizedInt`, with which one
    can count: for who reads other people's headers, and writes them again. Raises the same."""
    return _read(_TableReader(data, _sized_or_typed), offset, len(data))


def decode_timestamp(data: bytes | memoryview, offset: int) -> tuple[datetime | int, int]:
    """The time at ``offset``; as seconds since 1970 if it is after the year 9999.

    Raises ``struct.error`` where there are fewer than eight octets.
    """
    (seconds,) = _TIMESTAMP.unpack_from(data, offset)
    if seconds > _MAX_TIMESTAMP_S:
        return int(seconds), offset + _TIMESTAMP.size
    return _EPOCH + timedelta(seconds=seconds), offset + _TIMESTAMP.size


def _read(reader: _TableReader, offset: int, limit: int) -> tuple[dict[str, Any], int]:
    try:
        return reader.read_table(offset, limit, 1)
    except struct.error as error:
        raise _broken("a value is cut short") from error


def _sized(tag: str, value: Any) -> Any:
    return SizedInt(tag, value) if isinstance(value, int) else value


def _sized_or_typed(tag: str, value: Any) -> Any:
    return SizedInt(tag, value) if isinstance(value, int) else Typed(tag, value)


def _broken(text: str) -> WireError:
    return WireError(ReplyCode.SYNTAX_ERROR, f"field table: {text}")


class _TableReader:
    """Reads one table and all that is in it, counting values. A value whose tag is not the one that
    it would be sent with is given to ``tagged``, if there is such a function."""

    __slots__ = ("_data", "_items_left", "_tagged")

    def __init__(self, data: bytes | memoryview, tagged: Callable[[str, Any], Any] | None) -> None:
        self._data = data
        self._tagged = tagged
        self._items_left = MAX_TABLE_ITEMS

    def read_table(self, offset: int, limit: int, depth: int) -> tuple[dict[str, Any], int]:
        """Reads a table that ends at ``limit`` at the latest."""
        offset, end = self._extent(offset, limit, depth)
        table: dict[str, Any] = {}
        while offset < end:
            name, offset = decode_shortstr(self._data, offset, LENIENT)
            value, offset = self._read_value(offset, end, depth)
            table.setdefault(name, value)
        if offset != end:
            raise _broken("an entry is longer than its table")
        return table, end

    def read_array(self, offset: int, limit: int, depth: int) -> tuple[list[Any], int]:
        """Reads an array that ends at ``limit`` at the latest."""
        offset, end = self._extent(offset, limit, depth)
        values = []
        while offset < end:
            value, offset = self._read_value(offset, end, depth)
            values.append(value)
        if offset != end:
            raise _broken("a value is longer than its array")
        return values, end

    def _extent(self, offset: int, limit: int, depth: int) -> tuple[int, int]:
        """Start and end of the entries of a table or an array, by the length at ``offset``."""
        if depth > MAX_TABLE_DEPTH:
            raise _broken(f"nested deeper than {MAX_TABLE_DEPTH}")
        start = offset + 4
        end = start + int.from_bytes(self._data[offset:start], "big")
        if end > limit:
            raise _broken("longer than what holds it")
        return start, end

    def _read_value(self, offset: int, limit: int, depth: int) -> tuple[Any, int]:
        self._items_left -= 1
        if self._items_left < 0:
            raise _broken(f"more than {MAX_TABLE_ITEMS} values")
        if offset >= limit:
            raise _broken("an entry has no value")
        tag = chr(self._data[offset])
        value, end = self._read_as(tag, offset + 1, limit, depth)
        if tag == "L":
            tag = "l"  # two letters of one type
        if self._tagged is not None and tag_of(value) != tag:
            return self._tagged(tag, value), end
        return value, end

    def _read_as(self, tag: str, offset: int, limit: int, depth: int) -> tuple[Any, int]:
        if (integer := INTEGERS.get(tag)) is not None:
            return integer.unpack_from(self._data, offset)[0], offset + integer.size
        match tag:
            case "S":
                octets, end = decode_longstr(self._data, offset)
                return _text(octets), end
            case "t":
                return self._data[offset : offset + 1] not in (b"", b"\x00"), offset + 1
            case "F":
                return self.read_table(offset, limit, depth + 1)
            case "A":
                return self.read_array(offset, limit, depth + 1)
            case "V":
                return None, offset
            case "T":
                time, end = decode_timestamp(self._data, offset)
                return (Typed("T", time) if isinstance(time, int) else time), end
            case "x":
                return decode_longstr(self._data, offset)
            case "d" | "f":
                return self._read_float(FLOATS[tag], offset)
            case "D":
                return self._read_decimal(offset)
        raise _broken(f"no type has the tag {tag!r}")

    def _read_float(self, layout: struct.Struct, offset: int) -> tuple[float, int]:
        (value,) = layout.unpack_from(self._data, offset)
        if not math.isfinite(value):
            raise _broken("a float is not a finite number")
        return value, offset + layout.size

    def _read_decimal(self, offset: int) -> tuple[Decimal, int]:
        """Built from digits, because arithmetic would round to the caller's decimal context."""
        scale, unscaled = _DECIMAL.unpack_from(self._data, offset)
        digits = tuple(map(int, str(abs(unscaled))))
        return Decimal((int(unscaled < 0), digits, -scale)), offset + _DECIMAL.size


def _text(octets: bytes) -> str | bytes:
    """Long strings are text by custom only: what is not UTF-8 stays bytes."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets
