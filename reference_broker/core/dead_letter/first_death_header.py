"""The header of a message that dies for the first time, as most dead letters do.

The law: octet for octet it is what :func:`~reference_broker.core.dead_letter.x_death.with_x_death`
makes of the message. But nothing is decoded: the history goes behind the headers that are there,
and of it only the time, the routing key and the expiration are of this message. The rest, its
``pieces``, are the same for all that die in one queue for one reason and came through one exchange.

    content header   | class, weight, size | flags | ... | table                     | ...
    table            | length | headers of the publisher | x-death | six x-...-death-...
    x-death          | one table: before_time | time | behind_time | key | expiration |
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from mqkit.wire import Typed, encode_table
from reference_broker.core.dead_letter.letter_header import LetterHeader
from reference_broker.core.dead_letter.x_death import X_DEATH, longstr, names_of
from reference_broker.core.message.header import (
    CORRELATION_ID,
    DELIVERY_MODE,
    EXPIRATION,
    FLAGS,
    HEADERS,
    PERSISTENT,
    PRIORITY,
    PROPERTIES,
    REPLY_TO,
    HeaderFacts,
)
from reference_broker.core.message.header_table import check_table
from reference_broker.core.queue.death import DeathReason
from reference_broker.errors import ConnectionException

_HISTORY_MARK = b"-death"
"""In the name of every header of a history: whoever has one has died before, or says so."""
_COPIES_MARK = b"CC"
"""In the name of the header whose keys belong into the history, and which may have to go."""

_DEATHS_NAME = bytes((len(X_DEATH),)) + X_DEATH.encode()
_DEATHS_HEAD = struct.Struct(f">{len(_DEATHS_NAME)}scIcI")
"""Name, tag and length of the array; tag and length of the table in it."""
_TIME = struct.Struct(">Q")
_KEYS_HEAD = struct.Struct(">IcI")
"""Length of the array of keys; tag and length of the one that is in it."""
_LENGTH = struct.Struct(">I")
_FLAGS = struct.Struct(">H")
HISTORY_VALUES = 16
"""Values of a first history: x-death, the table in it with seven values and maybe an expiration,
and six beside it."""
_VALUE_HEAD_BYTES = 5
"""The tag and the length of a longstr or a table."""


_new_letter = tuple.__new__
"""Half of what calling the class costs."""

_FACTS = tuple(
    HeaderFacts(persistent, priority, has_headers=True)
    for persistent in (False, True)
    for priority in range(256)
)
"""The facts of every dead letter's header, which has no expiration any more."""


class Pieces(NamedTuple):
    """The octets that are the same in the x-death of many dead letters; see :func:`pieces_of`."""

    before_time: bytes
    behind_time: bytes
    names: bytes
    """All of ``entries``."""
    entries: tuple[tuple[bytes, bytes], ...]
    """Name and octets of each entry beside x-death, in order."""


class FirstDeath(NamedTuple):
    """The first death of messages that came by one exchange and ``routing_key`` into one queue, and
    leave it for one reason in one second; ``history`` is that of those without an expiration."""

    pieces: Pieces
    wall_ms: int
    routing_key: bytes
    history: bytes


def first_death(pieces: Pieces, wall_ms: int, routing_key: bytes) -> FirstDeath:
    """The first death, with its history."""
    return FirstDeath(pieces, wall_ms, routing_key, history_of(pieces, wall_ms, routing_key))


def pieces_of(queue: str, reason: DeathReason, exchange: bytes) -> Pieces:
    """For what dies in ``queue`` for ``reason`` and was published to ``exchange``."""
    names = names_of(queue, reason, exchange)
    first = {"count": Typed("l", 1), "reason": names["reason"], "queue": names["queue"]}
    flat = tuple(
        (name.encode(), _entries({name: value}))
        for field, value in names.items()
        for name in (f"x-first-death-{field}", f"x-last-death-{field}")
    )
    return Pieces(
        _entries(first) + b"\x04timeT",
        _entries({"exchange": longstr(exchange)}) + b"\x0crouting-keysA",
        b"".join(octets for _, octets in flat),
        flat,
    )


def history_of(pieces: Pieces, wall_ms: int, routing_key: bytes, expiration: bytes = b"") -> bytes:
    """The history of a first death, as it stands at the end of the table. ``expiration`` is an
    entry of it, or empty."""
    before_time, behind_time, names, _ = pieces
    key_bytes = len(routing_key)
    keys_bytes = _VALUE_HEAD_BYTES + key_bytes
    death = b"".join(
        (
            before_time,
            _TIME.pack(wall_ms // 1000),
            behind_time,
            _KEYS_HEAD.pack(keys_bytes, b"S", key_bytes),
            routing_key,
            expiration,
        )
    )
    size = len(death)
    return (
        _DEATHS_HEAD.pack(_DEATHS_NAME, b"A", _VALUE_HEAD_BYTES + size, b"F", size) + death + names
    )


def with_first_death(header: bytes, death: FirstDeath, bytes_max: int) -> LetterHeader | None:
    """The header of the dead letter. ``None`` for a message that may have died before, that has
    more routing keys than one, whose headers can't be read, or have no room for a history within
    ``bytes_max``: :func:`later_death_header.with_later_death` sees to those."""
    flags = header[FLAGS] << 8 | header[FLAGS + 1]
    table_at = PROPERTIES
    if flags & 0x8000:
        table_at += 1 + header[table_at]
    if flags & 0x4000:
        table_at += 1 + header[table_at]
    rest_at = table_at
    headers = b""
    if flags & HEADERS:
        rest_at += _LENGTH.size + _LENGTH.unpack_from(header, table_at)[0]
        headers = header[table_at + _LENGTH.size : rest_at]
        if _HISTORY_MARK in headers or _COPIES_MARK in headers or not _has_room(header, table_at):
            return None
    flags, rest, expiration, facts = behind_table(header, rest_at, flags)
    history = death.history
    if expiration:
        history = history_of(death.pieces, death.wall_ms, death.routing_key, expiration)
    letter = b"".join(
        (
            header[:FLAGS],
            _FLAGS.pack(flags),
            header[PROPERTIES:table_at],
            _LENGTH.pack(len(headers) + len(history)),
            headers,
            history,
            rest,
        )
    )
    if len(letter) > bytes_max:
        return None
    return _new_letter(LetterHeader, (letter, facts, (), None, 0))


def behind_table(header: bytes, rest_at: int, flags: int) -> tuple[int, bytes, bytes, HeaderFacts]:
    """The flags, and the properties behind the header table, both without the expiration; that as
    an entry of the history, or nothing; and the facts of a dead letter with these properties."""
    rest, expiration = header[rest_at:], b""
    facts = 0
    if flags & DELIVERY_MODE:
        facts = (header[rest_at] == PERSISTENT) << 8
    if flags & PRIORITY:
        facts |= header[rest_at + bool(flags & DELIVERY_MODE)]
    if flags & EXPIRATION:
        rest, expiration = _without_expiration(header, rest_at, flags)
        flags ^= EXPIRATION
    return flags | HEADERS, rest, expiration, _FACTS[facts]


def _without_expiration(header: bytes, rest_at: int, flags: int) -> tuple[bytes, bytes]:
    """The properties behind the headers without their expiration, and that as an entry of the
    history."""
    start = rest_at + bool(flags & DELIVERY_MODE) + bool(flags & PRIORITY)
    if flags & CORRELATION_ID:
        start += 1 + header[start]
    if flags & REPLY_TO:
        start += 1 + header[start]
    end = start + 1 + header[start]
    entry = _entries({"original-expiration": longstr(header[start + 1 : end])})
    return header[rest_at:start] + header[end:], entry


def _has_room(header: bytes, table_at: int) -> bool:
    """True for a table that can be read, with the values of a history in it too."""
    try:
        return check_table(header, table_at) >= HISTORY_VALUES
    except ConnectionException:
        return False


def _entries(table: dict[str, object]) -> bytes:
    """As they are in an encoded table, without its length."""
    return encode_table(table)[_LENGTH.size :]
