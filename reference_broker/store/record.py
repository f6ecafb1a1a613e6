"""Records: the layout of everything that the log holds. Bytes and values only.

Each record is framed alike; numbers are big-endian::

    0        4        8      9
    +--------+--------+------+-----------------+
    | length |  crc   | type | fields ...      |    length counts type and fields, so it is > 0
    |  u32   |  u32   |  u8  |                 |    and zeros (preallocated space) mean "the end"
    +--------+--------+------+-----------------+

The crc covers type and fields and starts from (segment seed XOR low 32 bits of the position): the
same bytes at another place, or in another segment, always fail. Types from 11 up are free.

::

    SYNCED       position u64                    everything below it was covered by an fdatasync
    START        epoch u32 | clean u8            the broker started
    PUBLISH      entries u32 | route length u16 | header length u32 | entry ... | route | header
                 | body                          a message, and the queues that it went to
    ACK          ranges u32 | range ...          those entries are done with
    REQUEUE      ranges u32 | range ...          those entries were handed out and came back
    MOVE         queue u64 | epoch u32 | sequence u64 | body position u64 (0: the body follows)
                 | entries u32 | route length u16 | header length u32 | entry ... | route | header
                 | body                          the source entry is gone, these are there instead
    DEFINE       present u8 | key length u32 | key | value
    DEFINITIONS  (key length u32 | value length u32 | key | value) ...    replaces all before it
    CLOSED                                       the broker stopped cleanly; nothing follows here
    SEALED                                       the segment is complete; nothing follows here

    entry        queue u64 | epoch u32 | sequence u64 | expires at ms u64 | priority u8
    range        queue u64 | epoch u32 | first sequence u64 | last sequence u64

An entry's epoch is that of its publishing, a range's (and a MOVE's source) that of its settling.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from reference_broker.core.content import Content
from reference_broker.core.journal import Entry


class RecordType(IntEnum):
    """The type byte. Zero is never one: it is what unwritten space reads as."""

    SYNCED = 1
    START = 2
    PUBLISH = 3
    ACK = 4
    REQUEUE = 5
    MOVE = 6
    DEFINE = 7
    DEFINITIONS = 8
    CLOSED = 9
    SEALED = 10


ENDS = (RecordType.CLOSED, RecordType.SEALED)
"""Types that nothing follows in the same segment."""

FRAME = struct.Struct(">II")
FRAME_BYTES = FRAME.size
PUBLISH_HEAD = struct.Struct(">BIHI")
ENTRY = struct.Struct(">QIQQB")
PUBLISH_ONE = struct.Struct(">BIHIQIQQB")
"""The head and the entry of a message for a single queue, in one go: the hot path."""
RANGES_HEAD = struct.Struct(">BI")
RANGE = struct.Struct(">QIQQ")
_SYNCED = struct.Struct(">BQ")
_START = struct.Struct(">BI?")
_MOVE_HEAD = struct.Struct(">BQIQQIHI")
_DEFINE_HEAD = struct.Struct(">B?I")
_DEFINITION_HEAD = struct.Struct(">II")

SYNCED_BYTES = FRAME_BYTES + _SYNCED.size
RANGES_HEAD_BYTES = FRAME_BYTES + RANGES_HEAD.size
RANGE_BYTES = RANGE.size
SEALED_BYTES = FRAME_BYTES + 1
SEALED_PAYLOAD = bytes([RecordType.SEALED])
CLOSED_PAYLOAD = bytes([RecordType.CLOSED])

BODY_INLINE = 0
"""A MOVE's body position when it carries the body itself. No record starts at position 0."""


class StoredEntry(NamedTuple):
    """An entry as the log has it: with the epoch that completes its identity."""

    queue_id: int
    epoch: int
    sequence: int
    expires_at_ms: int
    priority: int


class Range(NamedTuple):
    """Consecutive sequences of one queue, both ends included."""

    queue_id: int
    epoch: int
    first: int
    last: int


class Start(NamedTuple):
    epoch: int
    clean: bool


class Publish(NamedTuple):
    entries: list[StoredEntry]
    route: bytes
    header: bytes
    body: bytes


class Move(NamedTuple):
    """``body`` is ``None`` when it has to be taken from the record at ``body_position``."""

    queue_id: int
    epoch: int
    sequence: int
    body_position: int
    entries: list[StoredEntry]
    route: bytes
    header: bytes
    body: bytes | None


def encode_synced(position: int) -> bytes:
    return _SYNCED.pack(RecordType.SYNCED, position)


def decode_synced(payload: memoryview) -> int:
    position: int = _SYNCED.unpack(payload)[1]
    return position


def encode_start(epoch: int, clean: bool) -> bytes:
    return _START.pack(RecordType.START, epoch, clean)


def decode_start(payload: memoryview) -> Start:
    return Start(*_START.unpack(payload)[1:])


def _encode_entries(entries: Sequence[Entry], epoch: int) -> bytes:
    return b"".join(
        ENTRY.pack(queue_id, epoch, sequence, expires_at_ms, priority)
        for queue_id, sequence, expires_at_ms, priority in entries
    )


def encode_publish_head(entries: Sequence[Entry], epoch: int, content: Content) -> bytes:
    """All of a PUBLISH but the body, which the caller appends (or writes as its own piece)."""
    route = content.route
    header = content.header
    head = PUBLISH_HEAD.pack(RecordType.PUBLISH, len(entries), len(route), len(header))
    return head + _encode_entries(entries, epoch) + route + header


def decode_publish(payload: memoryview) -> Publish:
    _, count, route_length, header_length = PUBLISH_HEAD.unpack_from(payload)
    entries, route, header, body = _decode_message(
        payload, PUBLISH_HEAD.size, count, route_length, header_length
    )
    return Publish(entries, route, header, body)


def encode_move_head(
    queue_id: int,
    epoch: int,
    sequence: int,
    body_position: int,
    entries: Sequence[Entry],
    content: Content,
) -> bytes:
    """All of a MOVE; with ``body_position`` = :data:`BODY_INLINE` the caller appends the body."""
    route = content.route
    header = content.header
    head = _MOVE_HEAD.pack(
        RecordType.MOVE,
        queue_id,
        epoch,
        sequence,
        body_position,
        len(entries),
        len(route),
        len(header),
    )
    return head + _encode_entries(entries, epoch) + route + header


def decode_move(payload: memoryview) -> Move:
    _, queue_id, epoch, sequence, body_position, count, route_length, header_length = (
        _MOVE_HEAD.unpack_from(payload)
    )
    entries, route, header, rest = _decode_message(
        payload, _MOVE_HEAD.size, count, route_length, header_length
    )
    body = rest if body_position == BODY_INLINE else None
    return Move(queue_id, epoch, sequence, body_position, entries, route, header, body)


def _decode_message(
    payload: memoryview, start: int, count: int, route_length: int, header_length: int
) -> tuple[list[StoredEntry], bytes, bytes, bytes]:
    route_at = start + count * ENTRY.size
    header_at = route_at + route_length
    body_at = header_at + header_length
    entries = [StoredEntry._make(fields) for fields in ENTRY.iter_unpack(payload[start:route_at])]
    return (
        entries,
        bytes(payload[route_at:header_at]),
        bytes(payload[header_at:body_at]),
        bytes(payload[body_at:]),
    )


def encode_ranges(kind: RecordType, epoch: int, ranges: Iterable[Sequence[int]]) -> bytes:
    """An ACK or a REQUEUE; each range is (queue id, first, last)."""
    packed = [RANGE.pack(queue_id, epoch, first, last) for queue_id, first, last in ranges]
    return RANGES_HEAD.pack(kind, len(packed)) + b"".join(packed)


def decode_ranges(payload: memoryview) -> list[Range]:
    return [Range._make(fields) for fields in RANGE.iter_unpack(payload[RANGES_HEAD.size :])]


def encode_define(key: str, value: bytes | None) -> bytes:
    name = key.encode()
    head = _DEFINE_HEAD.pack(RecordType.DEFINE, value is not None, len(name))
    return head + name + (value or b"")


def decode_define(payload: memoryview) -> tuple[str, bytes | None]:
    _, present, key_length = _DEFINE_HEAD.unpack_from(payload)
    value_at = _DEFINE_HEAD.size + key_length
    key = str(payload[_DEFINE_HEAD.size : value_at], "utf-8")
    return key, bytes(payload[value_at:]) if present else None


def encoded_definition_bytes(key: str, value: bytes) -> int:
    """What this definition adds to a DEFINITIONS record."""
    return _DEFINITION_HEAD.size + len(key.encode()) + len(value)


def encode_definitions(definitions: Mapping[str, bytes]) -> bytes:
    parts = [bytes([RecordType.DEFINITIONS])]
    for key, value in definitions.items():
        name = key.encode()
        parts += (_DEFINITION_HEAD.pack(len(name), len(value)), name, value)
    return b"".join(parts)


def decode_definitions(payload: memoryview) -> dict[str, bytes]:
    definitions = {}
    offset = 1
    while offset < len(payload):
        key_length, value_length = _DEFINITION_HEAD.unpack_from(payload, offset)
        key_at = offset + _DEFINITION_HEAD.size
        value_at = key_at + key_length
        offset = value_at + value_length
        definitions[str(payload[key_at:value_at], "utf-8")] = bytes(payload[value_at:offset])
    return definitions
