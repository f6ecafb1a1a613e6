"""Records: the layout of everything that the log holds. Bytes and values only.

Each record is framed alike; numbers are big-endian::

    0        4        8      9
    +--------+--------+------+-----------------+
    | length |  crc   | type | fields ...      |    length counts type and fields, so it is > 0
    |  u32   |  u32   |  u8  |                 |    and zeros (preallocated space) mean "the end"
    +--------+--------+------+-----------------+

The crc covers type and fields and starts from (segment seed XOR low 32 bits of the position): the
same bytes at another place, or in another segment, always fail. Types from 16 up are free.

::

    SYNCED       position u64                    everything below it was covered by an fdatasync
    START        epoch u32 | clean u8            the broker started
    PUBLISH      message                         a message, and the queues that it went to
    ACK          ranges u32 | range ...          those entries are done with
    REQUEUE      ranges u32 | range ...          those entries were handed out and came back
    MOVE         queue u64 | epoch u32 | sequence u64 | message
                                                 the source entry is gone, these are there instead
    DEFINE       present u8 | key length u32 | key | value
    DEFINITIONS  (key length u32 | value length u32 | key | value) ...    replaces all before it
    CLOSED                                       the broker stopped cleanly; no record follows here
    SEALED                                       the segment is complete; no record follows here
    CHUNK        bytes                           the next part of the body of the message before it
    EXTENT       base u64 | epoch u32 | crc kind u8 | position u64 | length u32
                                                 so many bytes of copied records follow, unframed
    FOOTER       see reference_broker.store.format.footer
    CENSUS       base u64 ...                    the segments that exist now
    REMOVED      base u64 ...                    those of them that are deleted next

    message      entries u32 | route length u16 | header length u32 | body length u32
                 | entry ... | route | header | body
    entry        queue u64 | epoch u32 | sequence u64 | expires at ms u64 | priority u8
    range        queue u64 | epoch u32 | first sequence u64 | last sequence u64

An entry's epoch is that of its publishing, a range's (and a MOVE's source) that of its settling.
A body above :data:`CHUNK_BYTES` is not in its record: CHUNKs of that many bytes follow it, back to
back in the same segment and batch, the last one shorter. The message counts if all of them are
sound.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import Extent


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
    CHUNK = 11
    EXTENT = 12
    FOOTER = 13
    CENSUS = 14
    REMOVED = 15


ENDS = (RecordType.CLOSED, RecordType.SEALED)
"""Types that no record follows in the same segment, but the footer."""

MESSAGES = (RecordType.PUBLISH, RecordType.MOVE)

CHUNK_BYTES = 256 * 1024
"""A body above this is written in pieces of this size: none is copied or checksummed as a whole,
and a damaged one is noticed before it was read to the end."""

_MOVE_TYPE = int(RecordType.MOVE)

FRAME = struct.Struct(">II")
FRAME_BYTES = FRAME.size
PUBLISH_HEAD = struct.Struct(">BIHII")
ENTRY = struct.Struct(">QIQQB")
PUBLISH_ONE = struct.Struct(">BIHIIQIQQB")
"""The head and the entry of a message for a single queue, in one go: the hot path."""
RANGES_HEAD = struct.Struct(">BI")
RANGE = struct.Struct(">QIQQ")
_SYNCED = struct.Struct(">BQ")
_START = struct.Struct(">BI?")
_MOVE_HEAD = struct.Struct(">BQIQIHII")
_MOVE_ONE = struct.Struct(">BQIQIHIIQIQQB")
"""The head and the entry of a MOVE to a single queue."""
_DEFINE_HEAD = struct.Struct(">B?I")
_DEFINITION_HEAD = struct.Struct(">II")
_EXTENT = struct.Struct(">BQIBQI")
_BASE = struct.Struct(">Q")

SYNCED_BYTES = FRAME_BYTES + _SYNCED.size
RANGES_HEAD_BYTES = FRAME_BYTES + RANGES_HEAD.size
RANGE_BYTES = RANGE.size
SEALED_BYTES = FRAME_BYTES + 1
SEALED_PAYLOAD = bytes([RecordType.SEALED])
CLOSED_PAYLOAD = bytes([RecordType.CLOSED])
CHUNK_PAYLOAD = bytes([RecordType.CHUNK])
CHUNK_OVERHEAD_BYTES = FRAME_BYTES + len(CHUNK_PAYLOAD)
EXTENT_BYTES = FRAME_BYTES + _EXTENT.size
BASE_BYTES = _BASE.size


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


class MessageHead(NamedTuple):
    """A PUBLISH or a MOVE as recovery and rewriting need it: no byte of the message."""

    entries: list[StoredEntry]
    body_length: int
    source: Range | None
    """The entry that a MOVE ended."""

    @property
    def chunks(self) -> int:
        return chunks_of(self.body_length)


class Message(NamedTuple):
    """The message of a PUBLISH or a MOVE. ``body`` is empty when it is in CHUNKs."""

    entries: int
    """The number of queues that it went to."""
    route: bytes
    header: bytes
    body: bytes
    body_length: int

    @property
    def chunks(self) -> int:
        return chunks_of(self.body_length)


def chunks_of(body_length: int) -> int:
    """The number of CHUNK records that follow a message with such a body."""
    return 0 if body_length <= CHUNK_BYTES else -(-body_length // CHUNK_BYTES)


def stored_share(size_bytes: int, entries: int) -> int:
    """Bytes that each of ``entries`` is accounted for (:attr:`Content.stored`), of a message that
    takes ``size_bytes`` with all its frames."""
    return size_bytes // entries


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
    """All of a PUBLISH but the body, which the caller appends (or writes as CHUNKs)."""
    route = content.route
    header = content.header
    head = PUBLISH_HEAD.pack(
        RecordType.PUBLISH, len(entries), len(route), len(header), len(content.body)
    )
    return head + _encode_entries(entries, epoch) + route + header


def encode_move_head(
    queue_id: int, epoch: int, sequence: int, entries: Sequence[Entry], content: Content
) -> bytes:
    """All of a MOVE but the body, which the caller appends (or writes as CHUNKs)."""
    route = content.route
    header = content.header
    if len(entries) == 1:
        head = _MOVE_ONE.pack(
            _MOVE_TYPE,
            queue_id,
            epoch,
            sequence,
            1,
            len(route),
            len(header),
            len(content.body),
            entries[0].queue_id,
            epoch,
            entries[0].sequence,
            entries[0].expires_at_ms,
            entries[0].priority,
        )
        return head + route + header
    head = _MOVE_HEAD.pack(
        RecordType.MOVE,
        queue_id,
        epoch,
        sequence,
        len(entries),
        len(route),
        len(header),
        len(content.body),
    )
    return head + _encode_entries(entries, epoch) + route + header


def decode_message_head(payload: memoryview | bytes) -> MessageHead:
    """The head of a PUBLISH or a MOVE; the payload may end anywhere behind the entries."""
    source = None
    start = PUBLISH_HEAD.size
    if payload[0] == RecordType.MOVE:
        _, queue_id, epoch, sequence, count, _, _, length = _MOVE_HEAD.unpack_from(payload)
        source = Range(queue_id, epoch, sequence, sequence)
        start = _MOVE_HEAD.size
    else:
        _, count, _, _, length = PUBLISH_HEAD.unpack_from(payload)
    packed = payload[start : start + count * ENTRY.size]
    return MessageHead(
        [StoredEntry._make(fields) for fields in ENTRY.iter_unpack(packed)], length, source
    )


def decode_message(payload: memoryview | bytes) -> Message:
    """The message of a PUBLISH or a MOVE."""
    if payload[0] == _MOVE_TYPE:
        *_, count, route_length, header_length, length = _MOVE_HEAD.unpack_from(payload)
        route_at = _MOVE_HEAD.size + count * ENTRY.size
    else:
        _, count, route_length, header_length, length = PUBLISH_HEAD.unpack_from(payload)
        route_at = PUBLISH_HEAD.size + count * ENTRY.size
    header_at = route_at + route_length
    body_at = header_at + header_length
    return Message(
        count,
        bytes(payload[route_at:header_at]),
        bytes(payload[header_at:body_at]),
        bytes(payload[body_at:]),
        length,
    )


def encode_ranges(kind: RecordType, epoch: int, ranges: Iterable[Sequence[int]]) -> bytes:
    """The payload of an ACK or a REQUEUE; each range is (queue id, first, last)."""
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
    """Bytes that a definition adds to a DEFINITIONS record."""
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


def encode_extent(extent: Extent) -> bytes:
    base, epoch, kind, position, size_bytes = extent
    return _EXTENT.pack(RecordType.EXTENT, base, epoch, kind, position, size_bytes)


def decode_extent(payload: memoryview) -> Extent:
    _, base, epoch, kind, position, size_bytes = _EXTENT.unpack(payload)
    return Extent(base, epoch, ChecksumKind(kind), position, size_bytes)


def encode_bases(kind: RecordType, bases: Iterable[int]) -> bytes:
    """The payload of a CENSUS or a REMOVED."""
    return bytes([kind]) + b"".join(map(_BASE.pack, bases))


def decode_bases(payload: memoryview) -> list[int]:
    return [base for (base,) in _BASE.iter_unpack(payload[1:])]
