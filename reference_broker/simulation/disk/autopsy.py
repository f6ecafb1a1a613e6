"""Records in the files of the log, looked up by place: they tell what a flipped bit may cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.events.marking import marks_of
from reference_broker.store.format.checksum import checksum_of
from reference_broker.store.format.record import MESSAGES, RecordType, decode_extent, decode_message
from reference_broker.store.format.scan import Found, SegmentScan
from reference_broker.store.format.segment import HEADER_BYTES, SegmentHeader, SegmentName


class Record(NamedTuple):
    """A record in a place of the log; fields as in
    :class:`~reference_broker.simulation.events.events.BitRot`."""

    numbers: tuple[int, ...] = ()
    speaks: bool = False
    defines: bool = False


def sealed_files(disk: SimulatedDisk) -> list[str]:
    """The segments that nothing more is written to, oldest first; only those that no crash can make
    the last one again, whose end may be cut."""
    durable = disk.list_durable_files()
    segments = sorted(file for file in durable if SegmentName.parse(file) is not None)
    there = disk.list_files()
    return [file for file in segments[:-1] if file in there]


def numbers_in(disk: SimulatedDisk, file: str) -> tuple[int, ...]:
    """The messages of a sealed file, by their numbers."""
    name, data = SegmentName.parse(file), disk.read(file)
    header = SegmentHeader.decode(data)
    assert name is not None
    if header is None:
        return ()
    scan = SegmentScan(name, data, checksum_of(header.checksum))
    return tuple(
        marks_of(decode_message(payload).header).number
        for _, payload in _records(scan, name.base)
        if payload[0] in MESSAGES
    )


def record_at(disk: SimulatedDisk, file: str, byte: int) -> Record:
    """The record that has this byte of a sealed file."""
    name = SegmentName.parse(file)
    data = disk.read(file)
    header = SegmentHeader.decode(data)
    assert name is not None
    if header is None or byte < HEADER_BYTES:
        return Record()
    numbers: tuple[int, ...] = ()
    for end, payload in _records(SegmentScan(name, data, checksum_of(header.checksum)), name.base):
        kind = payload[0]
        if kind in MESSAGES:
            numbers = (marks_of(decode_message(payload).header).number,)
        if end > byte:
            return _record(kind, numbers)
    return Record()


def _records(scan: SegmentScan, base: int) -> Iterator[tuple[int, memoryview]]:
    """Each sound record, with the offset of its end in the file."""
    extent_end = 0
    zero = base
    for item in scan:
        if not isinstance(item, Found):
            continue
        offset = item.end - zero
        yield offset, item.payload
        if item.payload[0] == RecordType.EXTENT:
            # What was copied has kept its positions.
            extent = decode_extent(item.payload)
            extent_end = extent.position + extent.size_bytes
            zero = extent.position - offset
        elif item.end == extent_end:
            extent_end = 0
            zero = base


def _record(kind: int, numbers: tuple[int, ...]) -> Record:
    if kind in (*MESSAGES, RecordType.CHUNK):
        return Record(numbers, speaks=kind == RecordType.MOVE)
    if kind in (RecordType.DEFINE, RecordType.DEFINITIONS):
        return Record(defines=True)
    return Record(speaks=kind in (RecordType.ACK, RecordType.REQUEUE))
