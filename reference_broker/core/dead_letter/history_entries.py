"""A content header with another history in it: entries replaced, added and left out.

table     | entries that were there, in order | x-death | entries of a first history
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from reference_broker.core.dead_letter.header_room import newest_that_fit, room_of
from reference_broker.core.dead_letter.history_places import (
    COPIES,
    DEATHS,
    HISTORY,
    HistoryPlaces,
)
from reference_broker.core.message.header import FLAGS, PROPERTIES

_FLAGS = struct.Struct(">H")
_LENGTH = struct.Struct(">I")
_DEATHS_NAME = bytes((len(DEATHS),)) + DEATHS
_DEATHS_HEAD = struct.Struct(f">{len(_DEATHS_NAME)}scI")
"""Name, tag and length of x-death."""

_WITHOUT_HISTORY = dict.fromkeys(HISTORY, b"")


class Original(NamedTuple):
    """The content header that gets the history. ``flags``, and the properties ``rest`` that follow
    the header table, are as they shall be."""

    header: bytes
    places: HistoryPlaces
    flags: int
    rest: bytes


class HistoryEntries(NamedTuple):
    """The entries of a dead letter's history."""

    newest: bytes
    """The table of this death, with its tag."""
    older: bytes
    """Those of the deaths before, as they are in the array."""
    changed: Mapping[bytes, bytes]
    """Entries that replace those in the header, by name; an empty one leaves it out."""
    added: tuple[bytes, ...] = ()
    """Entries that are new."""

    def put_into(self, original: Original, bytes_max: int) -> tuple[bytes, int]:
        """The header with this history. For ``bytes_max`` the oldest tables go, and where there is
        no room for the newest, the whole history. Also returns how many tables went."""
        header, places, _, rest = original
        own = _entries(header, places, {DEATHS: b"", **self.changed})
        others = places.table + _LENGTH.size + len(rest) + _size(own) + _size(self.added)
        room = room_of(
            bytes_max - others - _DEATHS_HEAD.size,
            places.values_left - len(self.added) - 1,
            has_copies=COPIES in places.entries,
        )
        newest, older, dropped = self.newest, self.older, 0
        if len(newest) + len(older) > room:
            older, dropped = newest_that_fit(older, len(newest), room)
            if len(newest) > room:
                own = _entries(header, places, {**self.changed, **_WITHOUT_HISTORY})
                return _joined(original, own), dropped + 1
        size = len(newest) + len(older)
        deaths = _DEATHS_HEAD.pack(_DEATHS_NAME, b"A", size)
        return _joined(original, [*own, deaths, newest, older, *self.added]), dropped


def _entries(header: bytes, places: HistoryPlaces, changed: Mapping[bytes, bytes]) -> list[bytes]:
    """Octets of the table, with ``changed`` entries."""
    parts: list[bytes] = []
    at = places.table + _LENGTH.size
    for name, place in places.entries.items():
        replacement = changed.get(name)
        if replacement is not None:
            parts += header[at : place.start], replacement
            at = place.end
    parts.append(header[at : places.end])
    return parts


def _joined(original: Original, entries: list[bytes]) -> bytes:
    header, places, flags, rest = original
    before = header[:FLAGS], _FLAGS.pack(flags), header[PROPERTIES : places.table]
    return b"".join((*before, _LENGTH.pack(_size(entries)), *entries, rest))


def _size(parts: list[bytes] | tuple[bytes, ...]) -> int:
    return sum(map(len, parts))
