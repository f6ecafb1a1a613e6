"""Every byte of a segment's file, in order of the file, for a person who looks into a damaged one.
A start reads footers; this reads everything, and believes no footer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reference_broker.store.disk.ports import Disk
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.footer import Footer, read_footer
from reference_broker.store.format.record import ENDS, FRAME_BYTES, RecordType, decode_extent
from reference_broker.store.format.scan import Found, Gap, SegmentScan
from reference_broker.store.format.segment import HEADER_BYTES, SegmentHeader, SegmentName
from reference_broker.store.format.trailer import TRAILER_BYTES, encode_trailer, read_record


class SeenRecord(NamedTuple):
    """A record, or with ``payload`` ``None`` a place where none can be read."""

    file: str
    offset: int
    """In the file."""
    position: int
    """In the log; a rewritten segment's own records have none, and show its base plus offset."""
    size_bytes: int
    payload: memoryview | None
    kind: RecordType | None
    copied: bool
    """It lies in an extent: it was written to another file first."""

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes


class Inspection:
    """One segment's file, read as a whole. ``header`` is ``None`` when it is damaged, or another
    segment's."""

    def __init__(self, disk: Disk, name: SegmentName) -> None:
        """Raises ``OSError`` as the disk gives it, and :exc:`StoreError` for a version or a
        checksum that isn't known here."""
        self.name = name
        self.data = disk.read(name.file)
        header = SegmentHeader.decode(self.data)
        self.header = header if header is not None and header.name == name else None
        self.checksum = header.checksum if header is not None else _likely_kind(name, self.data)
        self._disk = disk

    def records(self) -> Iterator[SeenRecord]:
        """All of the file behind the header, but its trailer and the zeros at the end. Raises
        :exc:`StoreError` for a record of a newer version."""
        end = HEADER_BYTES
        footer: SeenRecord | None = None
        for seen in self._scanned():
            if footer is not None and self._has_trailer(footer):
                yield from self._rest(footer.end + TRAILER_BYTES)
                return
            yield seen
            end = seen.end
            if seen.kind in ENDS:
                yield from self._behind(end)
                return
            footer = seen if seen.kind is RecordType.FOOTER else None
        yield from self._rest(end)

    def footer(self) -> Footer | None:
        """The footer that the trailer leads to; ``None`` where either is damaged or missing."""
        return read_footer(self._disk, self.name, self.checksum)

    def _scanned(self) -> Iterator[SeenRecord]:
        """The records and gaps of the scan, with their place in the file. An extent's records
        follow its EXTENT without a hole, up to its end."""
        base = self.name.base
        extent_start = extent_end = shift = 0
        for item in SegmentScan(self.name, self.data, checksum_of(self.checksum)):
            start, end = _bounds(item)
            copied = extent_start < extent_end and start == extent_start
            seen = self._seen(start - (shift if copied else base), item, copied=copied)
            yield seen
            if copied:
                extent_start = end
            elif seen.kind is RecordType.EXTENT and seen.payload is not None:
                extent = decode_extent(seen.payload)
                extent_start = extent.position
                extent_end = extent.position + min(extent.size_bytes, len(self.data) - seen.end)
                shift = extent.position - seen.end

    def _seen(self, offset: int, item: Found | Gap, *, copied: bool) -> SeenRecord:
        start, end = _bounds(item)
        payload = item.payload if isinstance(item, Found) else None
        kind = None if payload is None else RecordType(payload[0])
        return SeenRecord(self.name.file, offset, start, end - start, payload, kind, copied)

    def _behind(self, offset: int) -> Iterator[SeenRecord]:
        """The FOOTER behind a SEALED or CLOSED, where the scan stops."""
        payload = read_record(self._disk, self.name, offset, self.checksum)
        if payload is not None and payload[0] == RecordType.FOOTER:
            found = Found(self.name.base + offset, memoryview(payload))
            footer = self._seen(offset, found, copied=False)
            yield footer
            offset = footer.end + TRAILER_BYTES * self._has_trailer(footer)
        yield from self._rest(offset)

    def _has_trailer(self, footer: SeenRecord) -> bool:
        trailer = encode_trailer(footer.offset, footer.size_bytes - FRAME_BYTES)
        return self.data[footer.end : footer.end + TRAILER_BYTES] == trailer

    def _rest(self, offset: int) -> Iterator[SeenRecord]:
        """The bytes behind the last record, unless they are zeros: a place without a record."""
        written = len(self.data.rstrip(b"\0"))
        if written > offset:
            base = self.name.base
            yield self._seen(offset, Gap(base + offset, base + written), copied=False)


def seen_records(disk: Disk) -> Iterator[SeenRecord]:
    """All records of all segments on ``disk``, in log order, those that a rewritten segment stands
    for included. Raises as :class:`Inspection` does."""
    names = (SegmentName.parse(file) for file in disk.list_files())
    for name in sorted(name for name in names if name is not None):
        inspection = Inspection(disk, name)
        if inspection.header is None:
            yield SeenRecord(name.file, 0, name.base, HEADER_BYTES, None, None, copied=False)
        yield from inspection.records()


def _bounds(item: Found | Gap) -> tuple[int, int]:
    start = item.position if isinstance(item, Found) else item.start
    return start, item.end


def _likely_kind(name: SegmentName, data: bytes) -> ChecksumKind:
    """The checksum by which most records can be read, for a segment with a damaged header."""

    def readable(kind: ChecksumKind) -> int:
        items = SegmentScan(name, data, checksum_of(kind))
        return sum(isinstance(item, Found) for item in items)

    return max(ChecksumKind, key=readable)
