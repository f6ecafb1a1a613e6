"""The limits of a message's headers, checked before they come to the transport: a row with other
headers is bad, and the rows around it are not. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqkit.transport.native.handshake import FRAME_MAX
from mqkit.wire import FRAME_OVERHEAD, MAX_TABLE_ITEMS, encode_table
from mqkit.wire.spec import MAX_SHORTSTR_SIZE

_HEADER_START_OCTETS = 14
"""Class, weight, body size and flags of a content header."""

_OTHER_OCTETS_MAX = 8 * (1 + MAX_SHORTSTR_SIZE) + 1 + 1 + 8
"""The other properties at their longest: eight short strings, priority, delivery mode and time."""

HEADERS_OCTETS_MAX = FRAME_MAX - FRAME_OVERHEAD - _HEADER_START_OCTETS - _OTHER_OCTETS_MAX
"""A content header is one frame, 128 KiB with RabbitMQ's defaults and at most what mqkit agrees to;
so long may its headers be, whatever stands beside them."""

_UTF8_OCTETS_MAX = 4
_ENTRY_OCTETS = 6
"""An entry of text beside its name and value: their lengths, and a tag."""


def check(headers: Mapping[str, Any]) -> None:
    """Raises ``ValueError`` (an :exc:`~mqkit.wire.EncodeError`, too) for headers that AMQP has no
    place for: a value out of its type's range, a name that is too long, tables that are nested too
    deep, too many values, too many octets."""
    octets = len(encode_table(headers))
    if octets > HEADERS_OCTETS_MAX:
        raise ValueError(f"{octets} octets, and {HEADERS_OCTETS_MAX} fit into a frame")
    # Each value takes an octet at least, and few headers have so many octets.
    if octets > MAX_TABLE_ITEMS and _items(headers) > MAX_TABLE_ITEMS:
        raise ValueError(f"more than {MAX_TABLE_ITEMS} values")


def is_surely_short(headers: Mapping[str, str | None]) -> bool:
    """True if such headers of text have room, without encoding them: of most rows that is known
    from the number of characters."""
    if len(headers) > MAX_TABLE_ITEMS:
        return False
    octets = 0
    for name, value in headers.items():
        if _UTF8_OCTETS_MAX * len(name) > MAX_SHORTSTR_SIZE:
            return False
        octets += _ENTRY_OCTETS + _UTF8_OCTETS_MAX * (len(name) + len(value or ""))
    return octets <= HEADERS_OCTETS_MAX


def _items(value: Any) -> int:
    """The values in a table or an array, inner ones counted; its depth is known to be bounded."""
    if isinstance(value, Mapping):
        return sum(1 + _items(each) for each in value.values())
    if isinstance(value, list | tuple):
        return sum(1 + _items(each) for each in value)
    return 0
