"""Recovery: from the segments' bytes to what was in the queues. No I/O; a full scan.

Torn or corrupt is decided by one position, the highest that is known to have been synced: by a
readable SYNCED record, or by a segment's existence (it is created only after the one before it was
synced). A gap below it is corruption: counted, reported, never cut, and its segment is never
deleted. A gap at or above it is the unsynced tail: everything from there on is cut, readable or
not, because nothing of it was ever promised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reference_broker.core.content import Content
from reference_broker.store import record
from reference_broker.store.checksum import ChecksumKind, checksum_of
from reference_broker.store.definitions import Definitions
from reference_broker.store.liveness import Liveness, SegmentUse
from reference_broker.store.record import RecordType, StoredEntry
from reference_broker.store.recovered import (
    DamageReport,
    LastSegment,
    RecoveredEntry,
    RecoveredLog,
)
from reference_broker.store.scan import Found, Gap, SegmentScan
from reference_broker.store.segment import HEADER_BYTES, SegmentHeader, SegmentName


def recover(names: Sequence[SegmentName], read: Callable[[SegmentName], bytes]) -> RecoveredLog:
    """Fold all segments, in log order, into a :class:`RecoveredLog`. ``read`` is called once per
    segment. Raises :exc:`StoreError` when a segment was written by a version that isn't known."""
    fold = _Fold()
    ordered = sorted(names)
    for name in ordered[:-1]:
        fold.sealed_segment(name, read(name))
    if ordered:
        fold.last_segment(ordered[-1], read(ordered[-1]))
    return fold.result(max((name.epoch for name in ordered), default=0))


class _Fold:
    """The state so far, and how each record changes it."""

    def __init__(self) -> None:
        self._definitions = Definitions()
        self._queues: dict[int, dict[int, RecoveredEntry]] = {}
        self._liveness = Liveness()
        self._damage = DamageReport()
        self._epoch = 0
        self._tail = 0
        self._redelivered_below = 0
        self._last: LastSegment | None = None
        self._last_type: RecordType | None = None
        self._apply_by_type: dict[int, Callable[[Found, SegmentUse], None]] = {
            RecordType.START: self._start,
            RecordType.PUBLISH: self._publish,
            RecordType.ACK: self._ack,
            RecordType.REQUEUE: self._requeue,
            RecordType.MOVE: self._move,
            RecordType.DEFINE: self._define,
            RecordType.DEFINITIONS: self._snapshot,
        }

    def sealed_segment(self, name: SegmentName, data: bytes) -> None:
        """A segment with others behind it: all of it had been synced."""
        use = self._liveness.add(name, len(data))
        self._note_header(use, data)
        items, _ = _scan(name, data)
        self._fold(items, use)
        if self._last_type not in record.ENDS:
            # Its end is missing: it reads as zeros, or the file is too short.
            self._quarantine(use, Gap(self._tail, max(self._tail, name.base + len(data))))
        self._liveness.seal(use, self._tail)

    def last_segment(self, name: SegmentName, data: bytes) -> None:
        """The segment that was being written: its end may never have been synced."""
        items, checksum = _scan(name, data)
        synced = name.base
        for item in items:
            if isinstance(item, Found) and item.payload[0] == RecordType.SYNCED:
                synced = max(synced, record.decode_synced(item.payload))
        kept: list[Found | Gap] = []
        for item in items:
            if isinstance(item, Gap) and item.end > synced:
                cut_at = max(item.start, synced)
                if item.start < cut_at:
                    kept.append(Gap(item.start, cut_at))
                self._damage.cut_bytes += items[-1].end - cut_at
                break
            kept.append(item)
        if not any(isinstance(item, Found) for item in kept):
            # Created, but nothing in it was ever promised: the log goes on from its base.
            self._tail = name.base
            self._last = LastSegment(name, 0, complete=False, checksum=checksum)
            self._last_type = None
            return
        use = self._liveness.add(name, len(data))
        self._note_header(use, data)
        self._fold(kept, use)
        complete = self._last_type in record.ENDS
        self._last = LastSegment(name, self._tail - name.base, complete, checksum)
        self._liveness.seal(use, self._tail)

    def result(self, highest_epoch: int) -> RecoveredLog:
        """Call it once, after the last segment."""
        self._drop_bodiless()
        closed = self._last is None or self._last_type is RecordType.CLOSED
        clean = closed and not self._damage.damaged
        redelivered_below = self._redelivered_below if clean else self._tail
        entries = {}
        for queue_id in sorted(self._queues):
            queue = self._queues[queue_id]
            entries[queue_id] = [queue[sequence] for sequence in sorted(queue)]
            for entry in entries[queue_id]:
                entry.redelivered |= entry.content.position < redelivered_below
        return RecoveredLog(
            definitions=dict(self._definitions.values),
            entries={queue_id: queue for queue_id, queue in entries.items() if queue},
            epoch=max(self._epoch, highest_epoch) + 1,
            tail=self._tail,
            redelivered_below=redelivered_below,
            clean=clean,
            damage=self._damage,
            liveness=self._liveness,
            last=self._last,
        )

    def _note_header(self, use: SegmentUse, data: bytes) -> None:
        header = SegmentHeader.decode(data)
        if header is None or header.name != use.name:
            self._quarantine(use, Gap(use.base, use.base + HEADER_BYTES))
        else:
            self._redelivered_below = max(self._redelivered_below, header.redelivered_below)

    def _fold(self, items: Sequence[Found | Gap], use: SegmentUse) -> None:
        self._last_type = None
        self._tail = use.base + HEADER_BYTES
        for item in items:
            self._tail = item.end
            if isinstance(item, Gap):
                self._quarantine(use, item)
                continue
            self._last_type = RecordType(item.payload[0])
            apply = self._apply_by_type.get(item.payload[0])
            if apply is not None:
                apply(item, use)

    def _quarantine(self, use: SegmentUse, gap: Gap) -> None:
        self._damage.quarantined_regions += 1
        self._damage.quarantined_bytes += gap.end - gap.start
        if not use.damaged:
            use.damaged = True
            self._damage.damaged_files.append(use.name.file)

    def _start(self, found: Found, use: SegmentUse) -> None:
        self._epoch = max(self._epoch, record.decode_start(found.payload).epoch)

    def _publish(self, found: Found, use: SegmentUse) -> None:
        entries, route, header, body = record.decode_publish(found.payload)
        self._enter(entries, Content(route, header, body, found.position), use)

    def _enter(self, entries: Sequence[StoredEntry], content: Content, use: SegmentUse) -> None:
        use.live += len(entries)
        for queue_id, _, sequence, expires_at_ms, priority in entries:
            queue = self._queues.setdefault(queue_id, {})
            replaced = queue.get(sequence)
            if replaced is not None:
                self._damage.entries_replaced += 1
                self._liveness.settle(replaced.content.position, queue_id, sequence, by=None)
            queue[sequence] = RecoveredEntry(
                queue_id, sequence, content, False, expires_at_ms, priority
            )

    def _ack(self, found: Found, use: SegmentUse) -> None:
        for queue_id, _, first, last in record.decode_ranges(found.payload):
            queue = self._queues.get(queue_id, {})
            for sequence in range(first, last + 1):
                entry = queue.pop(sequence, None)
                if entry is not None:
                    self._liveness.settle(entry.content.position, queue_id, sequence, by=use)

    def _requeue(self, found: Found, use: SegmentUse) -> None:
        for queue_id, _, first, last in record.decode_ranges(found.payload):
            queue = self._queues.get(queue_id, {})
            for sequence in range(first, last + 1):
                entry = queue.get(sequence)
                if entry is not None:
                    entry.redelivered = True
                    self._liveness.requeue(entry.content.position, queue_id, sequence, by=use)

    def _move(self, found: Found, use: SegmentUse) -> None:
        move = record.decode_move(found.payload)
        source = self._queues.get(move.queue_id, {}).pop(move.sequence, None)
        body = move.body
        if body is None:
            body = _BODY_LOST if source is None else source.content.body
            self._liveness.refer(found.position, move.body_position, len(move.entries))
        self._enter(move.entries, Content(move.route, move.header, body, found.position), use)
        if source is not None:
            self._liveness.settle(source.content.position, move.queue_id, move.sequence, by=use)

    def _drop_bodiless(self) -> None:
        """Moves whose body's segment is gone are normal while an ack of theirs follows; what is
        left of them at the end has lost its body."""
        for queue in self._queues.values():
            for entry in [each for each in queue.values() if each.content.body is _BODY_LOST]:
                self._damage.entries_without_body += 1
                del queue[entry.sequence]

    def _define(self, found: Found, use: SegmentUse) -> None:
        use.defines = True
        self._definitions.define(*record.decode_define(found.payload))

    def _snapshot(self, found: Found, use: SegmentUse) -> None:
        self._definitions.replace(record.decode_definitions(found.payload))
        self._liveness.snapshot(use)


def _scan(name: SegmentName, data: bytes) -> tuple[list[Found | Gap], ChecksumKind]:
    header = SegmentHeader.decode(data)
    # Where the header is damaged, the kind that can read more of the segment is the right one.
    kinds = list(ChecksumKind) if header is None else [header.checksum]
    scans = [(list(SegmentScan(name, data, checksum_of(kind))), kind) for kind in kinds]
    return max(scans, key=lambda scan: sum(isinstance(item, Found) for item in scan[0]))


_BODY_LOST = bytes(bytearray(b"lost"))
"""Compared by identity: no message's own body is this object."""
