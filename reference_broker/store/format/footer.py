"""The footer of a sealed segment: all that a start needs of it, so that no record need be read.

It holds nothing that the records don't: where it is damaged, the segment is scanned. It is an
ordinary record (framed, with a crc), and the trailer at the very end of the file says where it is
(:mod:`reference_broker.store.format.trailer`). The payload begins with its type byte and a fixed
head; then come, with columns in little-endian::

    notes      u32 ...        file offsets of the DEFINE, DEFINITIONS, CENSUS and REMOVED records,
                              which are read themselves
    groups     queue u64 | first sequence u64 | count u32 | flags u8, and as many of
               sequences u64 (unless they are consecutive) | positions u64 | sizes u32 | stored u32
               | expiries u64 (if any) | states u8 (if any was redelivered)
    foreign_ranges   base u64 | acked u32 | requeued u32, and so many of (queue, first, last) u64
    extents    origins: base u64 | epoch u32 | crc kind u8 ..., and as many as there are extents of
               positions u64 | offsets u32 | origin u16; for a rewritten segment only

A group is what was alive of one queue, all its levels together. What was handed out counts as
ready: "redelivered below" tells it after an unclean stop, and a clean one has none. (What waits
out a requeue delay is not handed out, and comes from the queue as redelivered.)
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reference_broker.core.index.index import EntryState
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.core.journal.journal import EntryColumns, EntrySource
from reference_broker.store.disk.ports import Disk
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import ExtentTable, Origin
from reference_broker.store.format.foreign_ranges import ForeignRanges
from reference_broker.store.format.record import FRAME_BYTES, SEALED_BYTES, RecordType
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.format.trailer import TRAILER_BYTES, read_footer_payload

_HEAD = struct.Struct(">BBIIIIIH")
_GROUP = struct.Struct(">QQIB")
_FOREIGN_RANGES = struct.Struct(">QII")
_ORIGIN = struct.Struct(">QIB")
_CONSECUTIVE, _WITH_EXPIRIES, _WITH_STATES = 1, 2, 4

NOTE_ROOM = 4
GROUP_ROOM = _GROUP.size
ENTRY_ROOM = 8 + 8 + 4 + 4 + 8 + 1
FOREIGN_RANGES_ROOM = _FOREIGN_RANGES.size
FOOTER_RANGE_BYTES = 24
"""Room that each note, queue, entry, referenced segment and range takes at most."""

END_ROOM = SEALED_BYTES + FRAME_BYTES + _HEAD.size + TRAILER_BYTES
"""Bytes that the end of a segment takes without any of these."""

_READY, _REDELIVERED, _TAKEN = (
    int(state) for state in (EntryState.READY, EntryState.REDELIVERED, EntryState.TAKEN)
)
_READY_STATE = bytes((_READY,))
_ITEM_BYTES = {typecode: array(typecode).itemsize for typecode in "qQIH"}
_TAKEN_IS_READY = bytes(_READY if state == _TAKEN else state for state in range(256))


class Ranges(NamedTuple):
    """Entries of another segment that a segment acks and requeues: (queue id, first, last) each,
    both ends included."""

    acked: Sequence[tuple[int, int, int]]
    requeued: Sequence[tuple[int, int, int]]


@dataclass(slots=True)
class Footer:
    """A footer's content. ``groups`` has one member for each queue, over all its levels."""

    end: RecordType
    """SEALED or CLOSED."""
    epoch: int
    """None lower than this may be used again."""
    notes: array[int] = field(default_factory=lambda: array("I"))
    groups: list[EntryColumns] = field(default_factory=list)
    foreign_ranges: dict[int, Ranges] = field(default_factory=dict)
    extents: ExtentTable | None = None


def group_of(queue_id: int, pieces: Iterable[EntryColumns]) -> EntryColumns | None:
    """All entries of a queue as one group, in order of sequence; ``None`` when it has none."""
    ordered = sorted(pieces, key=lambda columns: columns.sequences[0])
    if not ordered:
        return None
    if len(ordered) == 1:  # Of thousands of queues each has a few: the rest takes twice as long.
        return ordered[0]._replace(states=ordered[0].states.translate(_TAKEN_IS_READY))
    expiring = any(columns.expiries is not None for columns in ordered)
    group = EntryColumns(
        queue_id,
        (sequences := array("Q")),
        array("q"),
        array("I"),
        array("I"),
        b"".join(columns.states for columns in ordered).translate(_TAKEN_IS_READY),
        array("q") if expiring else None,
    )
    for columns in ordered:
        sequences.extend(columns.sequences)
        group.positions.extend(columns.positions)
        group.sizes.extend(columns.sizes)
        group.stored.extend(columns.stored)
        if group.expiries is not None:
            count = len(columns.sequences)
            group.expiries.extend(columns.expiries or array("q", bytes(8 * count)))
    return group


def alive(
    entries: EntrySource, queue_ids: Iterable[int], start: int, end: int
) -> list[EntryColumns]:
    """A group for each queue that has an entry whose message lies in ``start`` to ``end``."""
    groups = (group_of(each, entries.live_entries(each, start, end)) for each in queue_ids)
    return [group for group in groups if group is not None]


def levels_of(group: EntryColumns) -> Iterator[tuple[int, EntryColumns]]:
    """A group by level."""
    sequences = group.sequences
    start = 0
    while start < len(sequences):
        level = sequences[start] >> LEVEL_SHIFT
        if start == 0 and sequences[-1] >> LEVEL_SHIFT == level:
            yield level, group
            return
        end = bisect_left(sequences, (level + 1) << LEVEL_SHIFT, start)
        yield level, group.part(start, end)
        start = end


def ranges_of(foreign: ForeignRanges) -> Ranges:
    return Ranges(list(foreign.acked), list(foreign.requeued))


# Bytes


def encode_footer(footer: Footer) -> bytes:
    """The payload of a FOOTER record."""
    extents = footer.extents or ExtentTable()
    parts = [
        _HEAD.pack(
            RecordType.FOOTER,
            footer.end,
            footer.epoch,
            len(footer.notes),
            len(footer.groups),
            len(footer.foreign_ranges),
            len(extents),
            len(extents.origins),
        ),
        _column(footer.notes),
    ]
    for group in footer.groups:
        parts += _encode_group(group)
    parts += _encode_foreign_ranges(footer.foreign_ranges)
    parts += (_ORIGIN.pack(*origin) for origin in extents.origins)
    parts += map(_column, (extents.positions, extents.offsets, extents.which))
    return b"".join(parts)


def decode_footer(payload: bytes) -> Footer:
    """The footer that :func:`encode_footer` was given. The payload must be sound."""
    reader = _Reader(payload)
    _, end, epoch, notes, groups, foreign_ranges, extents, origins = reader.fields(_HEAD)
    footer = Footer(RecordType(end), epoch, reader.column("I", notes))
    footer.groups = [_decode_group(reader) for _ in range(groups)]
    for _ in range(foreign_ranges):
        base, acked, requeued = reader.fields(_FOREIGN_RANGES)
        footer.foreign_ranges[base] = Ranges(reader.ranges(acked), reader.ranges(requeued))
    if extents:
        footer.extents = table = ExtentTable()
        for _ in range(origins):
            base, origin_epoch, kind = reader.fields(_ORIGIN)
            table.add_origin(Origin(base, origin_epoch, ChecksumKind(kind)))
        table.positions = reader.column("Q", extents)
        table.offsets = reader.column("I", extents)
        table.which = reader.column("H", extents)
    return footer


def _encode_group(group: EntryColumns) -> list[bytes]:
    sequences = group.sequences
    count = len(sequences)
    consecutive = sequences[-1] - sequences[0] == count - 1
    with_states = group.states.count(_READY) < count
    flags = (
        (_CONSECUTIVE if consecutive else 0)
        | (_WITH_EXPIRIES if group.expiries is not None else 0)
        | (_WITH_STATES if with_states else 0)
    )
    parts = [_GROUP.pack(group.queue_id, sequences[0], count, flags)]
    if not consecutive:
        parts.append(_column(array("Q", sequences)))
    parts += map(_column, (group.positions, group.sizes, group.stored))
    if group.expiries is not None:
        parts.append(_column(group.expiries))
    if with_states:
        parts.append(group.states)
    return parts


def _decode_group(reader: _Reader) -> EntryColumns:
    queue_id, first, count, flags = reader.fields(_GROUP)
    consecutive = flags & _CONSECUTIVE
    return EntryColumns(
        queue_id,
        range(first, first + count) if consecutive else reader.column("Q", count),
        reader.column("q", count),
        reader.column("I", count),
        reader.column("I", count),
        expiries=reader.column("q", count) if flags & _WITH_EXPIRIES else None,
        states=reader.take(count) if flags & _WITH_STATES else _READY_STATE * count,
    )


def _encode_foreign_ranges(foreign_ranges: Mapping[int, Ranges]) -> Iterator[bytes]:
    for base, (acked, requeued) in foreign_ranges.items():
        yield _FOREIGN_RANGES.pack(base, len(acked), len(requeued))
        for ranges in (acked, requeued):
            yield _column(array("Q", [number for each in ranges for number in each]))


def _column(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


class _Reader:
    """Walks through a payload."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def take(self, size_bytes: int) -> bytes:
        self._at += size_bytes
        return self._payload[self._at - size_bytes : self._at]

    def fields(self, layout: struct.Struct) -> tuple[int, ...]:
        fields = layout.unpack_from(self._payload, self._at)
        self._at += layout.size
        return fields

    def column(self, typecode: str, count: int) -> array[int]:
        start = self._at
        self._at = end = start + count * _ITEM_BYTES[typecode]
        values: array[int] = array(typecode, self._payload[start:end])
        if sys.byteorder == "big":
            values.byteswap()
        return values

    def ranges(self, count: int) -> list[tuple[int, int, int]]:
        numbers = iter(self.column("Q", 3 * count))
        return list(zip(numbers, numbers, numbers, strict=True))


def read_footer(disk: Disk, name: SegmentName, checksum: ChecksumKind) -> Footer | None:
    """The footer of a complete segment; ``None`` when there is none, or it is damaged. Raises
    ``OSError`` as the disk gives it."""
    payload = read_footer_payload(disk, name, checksum)
    if payload is None or payload[0] != RecordType.FOOTER:
        return None
    return decode_footer(payload)
