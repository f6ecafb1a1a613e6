"""Recovery: the log and its queues, from the segments on a disk. Reads only.

A sealed segment is known by its footer, and scanned where header or footer is damaged; the one that
was being written is scanned. The last one is trusted by its footer only when that says CLOSED: a
file that ends with its trailer was synced before it was cut to that length. So was one that was cut
behind a CLOSED record, whatever can't be read behind that. A footer says nothing of the records, so
the first of them, which is short, is looked at: a medium that rots has often lost the whole block.

Torn or corrupt is decided by one position, the highest that is known to have been synced: by a
readable SYNCED record, or by a segment's existence (it is created only after the one before it was
synced). A gap below it is corruption: counted, reported, never cut, and its segment is never
deleted. A gap at or above it is the unsynced tail: everything from there on is cut, readable or
not, because nothing of it was ever promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from reference_broker.store.disk.ports import Disk
from reference_broker.store.format import record
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.extents import ExtentTable
from reference_broker.store.format.footer import Footer, ranges_of, read_footer
from reference_broker.store.format.record import FRAME_BYTES, RANGE_BYTES, RecordType
from reference_broker.store.format.scan import Found, Gap, SegmentScan
from reference_broker.store.format.segment import (
    COPY_SUFFIX,
    HEADER_BYTES,
    SPARE_FILE,
    SegmentHeader,
    SegmentName,
)
from reference_broker.store.format.trailer import TRAILER_BYTES, read_header, read_record
from reference_broker.store.liveness.liveness import SegmentUse
from reference_broker.store.start.fold import NOTED, Fold, chunks_end
from reference_broker.store.start.recovered import LastSegment, Part, RecoveredLog


def recover(disk: Disk, *, trust_footers: bool = True) -> RecoveredLog:
    """Fold all segments, in log order, into a :class:`RecoveredLog`. Without ``trust_footers``
    every record is read and verified, which takes longer and finds what is rotten.

    Raises :exc:`StoreError` when a segment was written by a version that isn't known, and
    ``OSError`` as the disk gives it."""
    segments, leftover, unsound = _list_segments(disk)
    recovery = _Recovery(disk, trust_footers, unsound)
    for segment in segments[:-1]:
        recovery.sealed_segment(segment)
    if segments:
        recovery.last_segment(segments[-1])
    highest = max((segment.name.epoch for segment in segments), default=0)
    return recovery.result(highest, leftover)


@dataclass(slots=True)
class _Segment:
    """A segment that counts: no rewritten one stands for it."""

    name: SegmentName
    header: SegmentHeader | None
    """``None`` when it is damaged."""
    size_bytes: int
    next_base: int | None = None
    """The base of the segment behind it."""

    @property
    def end(self) -> int:
        """The log position behind it; for a plain one that was not cut, at most."""
        if self.header is not None and self.header.end:
            return self.header.end
        if self.name.generation and self.next_base is not None:
            # A rewritten one's positions go further than its file does, and only its header,
            # which is damaged, would show how far.
            return self.next_base
        return self.name.base + self.size_bytes


def _list_segments(disk: Disk) -> tuple[list[_Segment], list[str], list[str]]:
    """The segments, in log order; the files that nothing needs; and rewritten segments that can't
    be used, beside what they were to replace. A rewritten one stands for every other whose base it
    covers: their deletion was cut short."""
    names = []
    leftover = []
    unsound = []
    for file in sorted(disk.list_files()):
        name = SegmentName.parse(file)
        if name is not None:
            names.append(name)
        elif file.endswith(COPY_SUFFIX) or file == SPARE_FILE:
            leftover.append(file)
    segments: list[_Segment] = []
    # In this order each one comes behind those that it may stand for, or that it is covered by.
    for name in sorted(names):
        segment = _Segment(name, read_header(disk, name), disk.size(name.file))
        before = segments[-1] if segments else None
        if before is not None and _covers(before, segment):
            leftover.append(name.file)
            continue
        if before is not None and _covers(segment, before):
            leftover.append(segments.pop().name.file)
        elif before is not None and before.name.base == name.base:
            unsound.append(name.file)
            continue
        segments.append(segment)
    for segment, behind in pairwise(segments):
        segment.next_base = behind.name.base
    return segments, leftover, unsound


def _covers(segment: _Segment, other: _Segment) -> bool:
    header = segment.header
    return (
        header is not None
        and header.name.base <= other.name.base < header.end
        and other.name.generation < header.name.generation
    )


class _Recovery:
    """Walks through the segments, and decides which parts of each count."""

    def __init__(self, disk: Disk, trust_footers: bool, unsound: list[str]) -> None:
        self._disk = disk
        self._trust_footers = trust_footers
        self._fold = Fold()
        self._fold.damage.damaged_files += unsound
        self._tail = 0
        self._closed = True
        self._last: LastSegment | None = None

    def sealed_segment(self, segment: _Segment) -> None:
        """A segment with others behind it: all of it had been synced."""
        footer = self._footer_of(segment)
        use = self._open(segment, footer)
        notes = self._read_notes(segment, footer) if self._trust_footers else None
        if footer is not None and notes is not None:
            if HEADER_BYTES not in footer.notes:  # Else it was read just now.
                self._check_first_record(use)
            self._fold.footer(footer, notes, use)
        else:
            self._scan_sealed(segment, footer, use)
        self._fold.liveness.seal(use, segment.end, segment.size_bytes, _capacity(segment, footer))
        self._tail = segment.end

    def last_segment(self, segment: _Segment) -> None:
        """The segment that was being written, if the broker didn't come to its end."""
        footer = self._footer_of(segment)
        if footer is not None:
            self._closed = footer.end == RecordType.CLOSED
        else:
            self._closed = _was_cut_when_closed(segment, self._disk)
        if self._closed or segment.name.generation:
            self.sealed_segment(segment)
        else:
            self._unfinished_segment(segment)

    def result(self, highest_epoch: int, leftover: list[str]) -> RecoveredLog:
        """Call it once, after the last segment."""
        fold, damage = self._fold, self._fold.damage
        find = fold.liveness.find
        damage.missing_segments = [base for base in fold.census if find(base) is None]
        damage.lost = fold.losses.counts()
        clean = self._closed and not damage.damaged
        redelivered_below = fold.redelivered_below if clean else self._tail
        queues = {}
        for queue_id, levels in sorted(fold.queues.items()):
            alive = {level: index for level, index in levels.items() if index.ready}
            for index in alive.values():
                index.mark_redelivered_below(redelivered_below)
            if alive:
                queues[queue_id] = alive
        return RecoveredLog(
            definitions=dict(fold.definitions.values),
            queues=queues,
            epoch=max(fold.epoch, highest_epoch) + 1,
            tail=self._tail,
            redelivered_below=redelivered_below,
            stopped=self._closed,
            clean=clean,
            damage=damage,
            liveness=fold.liveness,
            last=self._last,
            leftover=leftover,
        )

    # By footer

    def _footer_of(self, segment: _Segment) -> Footer | None:
        header = segment.header
        for kind in ChecksumKind if header is None else (header.checksum,):
            footer = read_footer(self._disk, segment.name, kind)
            if footer is not None:
                return footer
        return None

    def _check_first_record(self, use: SegmentUse) -> None:
        """Quarantine the first record where it is damaged; nobody knows how long it was."""
        if read_record(self._disk, use.name, HEADER_BYTES, use.checksum) is None:
            start = use.base + HEADER_BYTES
            self._fold.quarantine(use, Gap(start, start + FRAME_BYTES))

    def _read_notes(self, segment: _Segment, footer: Footer | None) -> list[Found] | None:
        """The records that the footer points to; ``None`` when one of them is damaged."""
        notes: list[Found] = []
        if footer is None or segment.header is None:
            return None
        for offset in footer.notes:
            payload = read_record(self._disk, segment.name, offset, segment.header.checksum)
            if payload is None or payload[0] not in NOTED:
                return None
            notes.append(Found(segment.name.base + offset, memoryview(payload)))
        return notes

    # By scan

    def _scan_sealed(self, segment: _Segment, footer: Footer | None, use: SegmentUse) -> None:
        items, checksum, end = _scan(segment, self._disk.read(segment.name.file))
        use.checksum = checksum
        if segment.name.generation and use.extents is None:
            use.extents = _extents_of(items, segment.name.base)
        self._fold.scanned(items, use, exact=footer is not None)
        if footer is not None:
            self._fold.compare(footer)
        elif end < segment.size_bytes or not use.damaged:
            base = use.base
            rest = Gap(base + end, base + segment.size_bytes)
            self._fold.quarantine(use, rest, Part.FOOTER)

    def _unfinished_segment(self, segment: _Segment) -> None:
        name = segment.name
        items, checksum, _ = _scan(segment, self._disk.read(name.file))
        kept = self._trusted(items, name.base)
        last_kept = kept[-1] if kept else None
        if last_kept is None or not any(isinstance(item, Found) for item in kept):
            # Created, but nothing in it was ever promised: the log goes on from its base.
            self._tail = name.base
            self._last = LastSegment(name, 0, complete=False, checksum=checksum)
            return
        use = self._open(segment, None)
        use.checksum = checksum
        self._fold.scanned(kept, use, exact=False)
        self._tail = use.end = last_kept.end
        complete = isinstance(last_kept, Found) and last_kept.payload[0] in record.ENDS
        foreign_ranges = {
            base: ranges_of(foreign) for base, foreign in self._fold.foreign_ranges.items()
        }
        found = [item for item in kept if isinstance(item, Found)]
        notes = [item.position - name.base for item in found if item.payload[0] in NOTED]
        self._last = LastSegment(
            name, self._tail - name.base, complete, checksum, notes, foreign_ranges, use
        )

    def _trusted(self, items: Sequence[Found | Gap], base: int) -> list[Found | Gap]:
        """The part of an unfinished segment that is kept: all up to the unsynced tail."""
        synced = base
        for item in items:
            if isinstance(item, Found) and item.payload[0] == RecordType.SYNCED:
                synced = max(synced, record.decode_synced(item.payload))
        kept: list[Found | Gap] = []
        for item in items:
            if isinstance(item, Gap) and item.end > synced:
                cut_at = max(item.start, synced)
                if item.start < cut_at:
                    kept.append(Gap(item.start, cut_at))
                break
            kept.append(item)
        _drop_torn_message(kept)
        kept_end = kept[-1].end if kept else base + HEADER_BYTES
        self._fold.damage.cut_bytes += items[-1].end - kept_end if items else 0
        return kept

    def _open(self, segment: _Segment, footer: Footer | None) -> SegmentUse:
        """Begin the books of a segment."""
        header = segment.header
        use = SegmentUse(segment.name, segment.size_bytes)
        use.end = segment.end
        use.shared = True  # nobody counted
        if footer is not None:
            use.extents = footer.extents
        self._fold.liveness.add(use)
        if header is None:
            self._fold.quarantine(use, Gap(use.base, use.base + HEADER_BYTES), Part.HEADER)
        else:
            use.checksum = header.checksum
            fold = self._fold
            fold.redelivered_below = max(fold.redelivered_below, header.redelivered_below)
        return use


def _scan(segment: _Segment, data: bytes) -> tuple[list[Found | Gap], ChecksumKind, int]:
    """The records and gaps, the checksum that they have, and the offset behind them in the file."""
    header = segment.header
    # Where the header is damaged, the kind that can read more of the segment is the right one.
    kinds = list(ChecksumKind) if header is None else [header.checksum]
    scans = [(SegmentScan(segment.name, data, checksum_of(kind)), kind) for kind in kinds]
    walks = [(list(scan), kind, scan) for scan, kind in scans]
    items, kind, scan = max(
        walks, key=lambda walk: sum(isinstance(item, Found) for item in walk[0])
    )
    return items, kind, scan.offset


def _was_cut_when_closed(segment: _Segment, disk: Disk) -> bool:
    """True for a file that was cut behind a CLOSED record, though its footer can't be read."""
    file = segment.name.file
    end = disk.read_range(file, max(segment.size_bytes - TRAILER_BYTES, 0), TRAILER_BYTES)
    if not any(end):
        return False  # It was not cut: zeros are what nobody wrote yet.
    items, _, _ = _scan(segment, disk.read(file))
    last = items[-1] if items else None
    return isinstance(last, Found) and last.payload[0] == RecordType.CLOSED


def _drop_torn_message(kept: list[Found | Gap]) -> None:
    """Drop the message at the end of ``kept`` when it doesn't have all of its chunks."""
    for place in range(len(kept) - 1, -1, -1):
        item = kept[place]
        if isinstance(item, Gap):
            return
        kind = item.payload[0]
        if kind in record.MESSAGES:
            head = record.decode_message_head(item.payload)
            if chunks_end(item, head, kept[place + 1 : place + 1 + head.chunks]) is None:
                del kept[place:]
            return
        if kind != RecordType.CHUNK:
            return


def _extents_of(items: Sequence[Found | Gap], base: int) -> ExtentTable:
    """The table of a rewritten segment whose footer is damaged."""
    table = ExtentTable()
    for item in items:
        if isinstance(item, Found) and item.payload[0] == RecordType.EXTENT:
            table.add(record.decode_extent(item.payload), item.end - base)
    return table


def _capacity(segment: _Segment, footer: Footer | None) -> int:
    """The bytes that a segment was sealed or rewritten with."""
    if footer is None or not segment.name.generation:
        return segment.size_bytes
    live_bytes = sum(sum(group.stored) for group in footer.groups)
    ranges = sum(len(each.acked) + len(each.requeued) for each in footer.foreign_ranges.values())
    return live_bytes + RANGE_BYTES * ranges
