"""The header of a message that has died before, or has anything else in it that is not simple:
routing keys in CC, a history that a client wrote, no room for one.

The law: octet for octet it is what :func:`~reference_broker.core.dead_letter.x_death.with_x_death`
makes of the message, as long as that has room. But x-death is not decoded, which would take longer
with each hop: the new table is put in front of the octets that are there. Only a table of the same
queue and reason is decoded, to be counted on. What no broker writes (a table that can't be read,
a name that is there twice) is decoded whole, and is in order from then on.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from mqkit.wire import encode_longstr, encode_table
from reference_broker.core.dead_letter.earlier_deaths import UNREADABLE, EarlierDeaths
from reference_broker.core.dead_letter.first_death_header import Pieces, behind_table
from reference_broker.core.dead_letter.header_room import room_of
from reference_broker.core.dead_letter.history_entries import HistoryEntries, Original
from reference_broker.core.dead_letter.history_places import (
    COPIES,
    FIRST_NAMES,
    HistoryPlaces,
    find_history,
)
from reference_broker.core.dead_letter.letter_header import LetterHeader
from reference_broker.core.dead_letter.x_death import counted_on, with_x_death
from reference_broker.core.message.copy_keys import cc_keys
from reference_broker.core.message.header import read_facts
from reference_broker.core.message.header_table import readable_table, value_end
from reference_broker.core.queue.death import DeathReason

_TIME = struct.Struct(">Q")


class LaterDeath(NamedTuple):
    """A message that leaves ``queue`` for ``reason``. ``exchange`` and ``routing_key`` are those of
    the publish that brought it there, and ``pieces`` what
    :func:`~reference_broker.core.dead_letter.first_death_header.pieces_of` makes of the three.
    Without ``keep_cc`` its CC header goes, since the queue has a key for its dead letters."""

    header: bytes
    queue: str
    reason: DeathReason
    pieces: Pieces
    wall_ms: int
    exchange: bytes
    routing_key: bytes
    keep_cc: bool


def with_later_death(death: LaterDeath, bytes_max: int) -> LetterHeader:
    """The header of the dead letter. Where it would be longer than ``bytes_max``, the oldest deaths
    are not in it any more, or no history at all; everything that the publisher wrote stays."""
    return _from_octets(death, bytes_max) or _decoded(death, bytes_max)


def _from_octets(death: LaterDeath, bytes_max: int) -> LetterHeader | None:
    """``None`` where only decoding tells."""
    header = death.header
    places = find_history(header)
    if places is None:
        return None
    span = places.deaths(header)
    earlier = None
    newest = older = b""
    if span is not None:
        earlier = EarlierDeaths(header, *span)
        try:
            again = earlier.of(death.queue, death.reason)
        except UNREADABLE:
            return None
        if len(again) > 1:
            return None
        older = header[earlier.start : earlier.end]
        for known in again:
            newest = b"F" + encode_table(counted_on(known.table))
            older = header[earlier.start : known.start] + header[known.end : earlier.end]
    flags, rest, expiration, facts = behind_table(header, places.end, places.flags)
    keys = _copy_keys(header, places)
    changed = {} if death.keep_cc else {COPIES: b""}
    added = []
    for name, entry in death.pieces.entries:
        if span is not None and name in FIRST_NAMES:
            continue
        if name in places.entries:
            changed[name] = entry
        else:
            added.append(entry)
    entries = HistoryEntries(
        newest or _new_table(death, keys, expiration), older, changed, tuple(added)
    )
    letter, dropped = entries.put_into(Original(header, places, flags, rest), bytes_max)
    return LetterHeader(letter, facts, _texts(keys) if death.keep_cc else (), earlier, dropped)


def _decoded(death: LaterDeath, bytes_max: int) -> LetterHeader:
    header = with_x_death(
        death.header,
        queue=death.queue,
        reason=death.reason,
        wall_ms=death.wall_ms,
        exchange=death.exchange,
        routing_key=death.routing_key,
        keep_cc=death.keep_cc,
    )
    facts = read_facts(header)
    places = find_history(header)
    span = None if places is None else places.deaths(header)
    if places is None or span is None:
        return LetterHeader(header, facts)
    keys = _copy_keys(header, places)
    copies = _texts(keys) if death.keep_cc else ()
    start, end = span
    earlier = EarlierDeaths(header, start, end)
    bytes_left = bytes_max - len(header) + end - start
    if end - start <= room_of(bytes_left, places.values_left, has_copies=COPIES in places.entries):
        return LetterHeader(header, facts, copies, earlier)
    newest_end = value_end(header, start)
    entries = HistoryEntries(header[start:newest_end], header[newest_end:end], {})
    original = Original(header, places, places.flags, header[places.end :])
    letter, dropped = entries.put_into(original, bytes_max)
    return LetterHeader(letter, facts, copies, earlier, dropped)


def _new_table(death: LaterDeath, keys: list[bytes], expiration: bytes) -> bytes:
    """The table of a (queue, reason) that comes for the first time, with its tag."""
    pieces = death.pieces
    array = b"".join([b"S" + encode_longstr(key) for key in (death.routing_key, *keys)])
    time = _TIME.pack(death.wall_ms // 1000)
    table = (pieces.before_time, time, pieces.behind_time, encode_longstr(array), expiration)
    return b"F" + encode_longstr(b"".join(table))


def _copy_keys(header: bytes, places: HistoryPlaces) -> list[bytes]:
    place = places.entries.get(COPIES)
    if place is None:
        return []
    return cc_keys(readable_table(encode_longstr(header[place.start : place.end])))


def _texts(keys: list[bytes]) -> list[str]:
    return [key.decode(errors="surrogateescape") for key in keys]
