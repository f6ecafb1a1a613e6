"""Header tables from outside: checked, so that every client that is given one can read it.

RabbitMQ decodes every table that is published and refuses what it can't; clients rely on that, and
one that can't read a message it is given is given it again for ever. :func:`check_table` decodes
nothing: it walks the lengths only, with the bounds that :func:`mqkit.wire.decode_table` has.
"""

from __future__ import annotations

import struct
from typing import Any

from mqkit.wire import MAX_TABLE_DEPTH, MAX_TABLE_ITEMS, WireError, decode_table
from reference_broker.errors import ConnectionException, ReplyCode

_LENGTH = struct.Struct(">I")
_LENGTH_AND_TAG = 5
_TEXT = -1
_TABLE = -2
_ARRAY = -3
_DOUBLE = -4
_FLOAT = -5
_UNKNOWN = 0


def _sizes() -> list[int]:
    """By tag: how many octets a value takes, its tag included, or how to find out."""
    sizes = [_UNKNOWN] * 256
    fixed = {"V": 1, "tbB": 2, "su": 3, "Ii": 5, "D": 6, "lLT": 9}
    others = {"Sx": _TEXT, "F": _TABLE, "A": _ARRAY, "d": _DOUBLE, "f": _FLOAT}
    for tags, size in (*fixed.items(), *others.items()):
        for tag in tags:
            sizes[ord(tag)] = size
    return sizes


_SIZES = _sizes()


def check_table(header: bytes, start: int) -> int:
    """Look at the table that begins at ``start`` and ends somewhere in ``header``. Returns how many
    values it has room for beside its own, by ``MAX_TABLE_ITEMS``.

    Raises :exc:`ConnectionException` 502 wherever ``decode_table`` would complain.
    """
    try:
        end = start + _LENGTH.size + _LENGTH.unpack_from(header, start)[0]
        if end > len(header):
            raise _broken("longer than what holds it")
        return _check_values(header, start + _LENGTH.size, end, True, 1, MAX_TABLE_ITEMS)
    except (struct.error, IndexError):
        raise _broken("a value is cut short") from None


def check_value(header: bytes, at: int, end: int, left: int) -> int:
    """Look at one value of a table, from its tag at ``at`` to its ``end``. Of the ``left`` values
    that the table may have, returns how many it may have after this one.

    Raises :exc:`ConnectionException` 502 as :func:`check_table` does, and ``IndexError`` or
    ``struct.error`` where ``header`` ends too early.
    """
    return _check_values(header, at, end, False, 1, left)


def value_end(header: bytes, at: int) -> int:
    """The end of the value whose tag is at ``at``, by its length alone: nothing in it is checked,
    and it may be beyond the end of ``header``.

    Raises :exc:`ConnectionException` 502 for a tag that no type has, and ``IndexError`` or
    ``struct.error`` where ``header`` ends too early.
    """
    size = _SIZES[header[at]]
    if size > 0:
        return at + size
    if size == _UNKNOWN:
        raise _broken(f"no type has the tag {chr(header[at])!r}")
    if size <= _DOUBLE:
        return at + (9 if size == _DOUBLE else 5)
    return at + _LENGTH_AND_TAG + int(_LENGTH.unpack_from(header, at + 1)[0])


def readable_table(table: bytes | None) -> dict[str, Any]:
    """The encoded ``table`` with exact types, so that encoding it again changes nothing; empty
    where there is none, or none that can be decoded."""
    if table is None:
        return {}
    try:
        return decode_table(table, exact=True)[0]
    except WireError:
        return {}


def _check_values(header: bytes, at: int, end: int, named: bool, depth: int, left: int) -> int:
    """The values from ``at`` to ``end``: of a table, where they are ``named``, or of an array. How
    many more there may be after them."""
    if depth > MAX_TABLE_DEPTH:
        raise _broken(f"nested deeper than {MAX_TABLE_DEPTH}")
    sizes = _SIZES
    length_at = _LENGTH.unpack_from
    while at < end:
        if named:
            at += 1 + header[at]
        size = sizes[header[at]]
        left -= 1
        if size > 0:
            at += size
        elif size == _TEXT:
            at += _LENGTH_AND_TAG + length_at(header, at + 1)[0]
        elif size <= _DOUBLE:
            at = _after_float(header, at + 1, size == _DOUBLE)
        elif size == _UNKNOWN:
            raise _broken(f"no type has the tag {chr(header[at])!r}")
        else:
            inner = at + _LENGTH_AND_TAG
            at = inner + length_at(header, at + 1)[0]
            if at > end:
                raise _broken("longer than what holds it")
            left = _check_values(header, inner, at, size == _TABLE, depth + 1, left)
    if at != end:
        raise _broken("a value is longer than what holds it")
    if left < 0:
        raise _broken(f"more than {MAX_TABLE_ITEMS} values")
    return left


def _after_float(header: bytes, at: int, is_double: bool) -> int:
    """The end of the float at ``at``. An exponent with all its bits says NaN or infinite."""
    if header[at] & 0x7F == 0x7F and header[at + 1] >= (0xF0 if is_double else 0x80):
        raise _broken("a float is not a finite number")
    return at + (8 if is_double else 4)


def _broken(text: str) -> ConnectionException:
    return ConnectionException(ReplyCode.SYNTAX_ERROR, f"field table: {text}")
