"""The places of a dead letter's history in its content header, found without decoding it.

    content header   | class, weight, size | flags | ... | table                           | ...
    table            | length | entries of the publisher and of the history, in any order |
    entry            | name | tag | value |

Every entry outside of x-death is looked at, and checked as a publish is. Of x-death only the length
is: it may have a thousand tables, and whatever is in a message was checked when it came.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from mqkit.wire import MAX_TABLE_ITEMS
from reference_broker.core.message.header import FLAGS, HEADERS, PROPERTIES
from reference_broker.core.message.header_table import check_value, value_end
from reference_broker.errors import ConnectionException

DEATHS = b"x-death"
COPIES = b"CC"
LAST_QUEUE = b"x-last-death-queue"
FIRST_NAMES = frozenset(
    (b"x-first-death-queue", b"x-first-death-reason", b"x-first-death-exchange")
)
HISTORY = FIRST_NAMES | {DEATHS, LAST_QUEUE, b"x-last-death-reason", b"x-last-death-exchange"}
_NAMES = HISTORY | {COPIES}
_OWN_VALUES_MAX = 16
"""Values that a history adds outside of x-death, and more: a table that was full before it had them
is looked at nevertheless."""
_ARRAY = ord("A")
_LONGSTR = ord("S")
_LENGTH = struct.Struct(">I")
ARRAY_HEAD_BYTES = 1 + _LENGTH.size
"""Tag and length of an array, a table or a longstr."""


class Place(NamedTuple):
    """One entry of the table: offsets in the content header."""

    start: int
    """Of the octet with the length of the name."""
    value: int
    """Of the tag."""
    end: int


class HistoryPlaces(NamedTuple):
    """The entries of a history, and CC, in a content header, by name; see :func:`find_history`."""

    flags: int
    """Of the properties."""
    table: int
    """The offset of the table's length."""
    end: int
    """The offset after the table."""
    entries: dict[bytes, Place]
    values_left: int
    """Values that the table has room for beside those outside of x-death. Below zero where there
    are too many."""

    def deaths(self, header: bytes) -> tuple[int, int] | None:
        """Start and end of the tables in x-death. ``None`` where a history begins: there are none,
        or no broker wrote them, for ``x-last-death-queue`` is missing."""
        place = self.entries.get(DEATHS)
        if place is None or LAST_QUEUE not in self.entries or header[place.value] != _ARRAY:
            return None
        start = place.value + ARRAY_HEAD_BYTES
        return (start, place.end) if start < place.end else None


def find_history(header: bytes) -> HistoryPlaces | None:
    """``None`` where only decoding tells: there is no table, it can't be read, or a name is in it
    twice."""
    flags = header[FLAGS] << 8 | header[FLAGS + 1]
    if not flags & HEADERS:
        return None
    try:
        return _walk(header, flags)
    except (ConnectionException, IndexError, struct.error):
        return None


def _walk(header: bytes, flags: int) -> HistoryPlaces | None:
    table = PROPERTIES
    if flags & 0x8000:
        table += 1 + header[table]
    if flags & 0x4000:
        table += 1 + header[table]
    at = table + _LENGTH.size
    end = at + _LENGTH.unpack_from(header, table)[0]
    length_at = _LENGTH.unpack_from
    seen = set()
    entries = {}
    left = MAX_TABLE_ITEMS + _OWN_VALUES_MAX
    while at < end:
        start = at
        at += 1 + header[at]
        name = header[start + 1 : at]
        value = at
        tag = header[at]
        if tag == _LONGSTR or (tag == _ARRAY and name == DEATHS):
            at += ARRAY_HEAD_BYTES + length_at(header, at + 1)[0]
            left -= 1
        else:
            at = value_end(header, at)
            left = check_value(header, value, at, left)
        if name in seen:
            return None
        seen.add(name)
        if name in _NAMES:
            entries[name] = Place(start, value, at)
    if at != end or end > len(header) or left < 0:
        return None
    return HistoryPlaces(flags, table, end, entries, left - _OWN_VALUES_MAX)
