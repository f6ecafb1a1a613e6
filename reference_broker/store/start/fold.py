"""Folding the log: the state so far, and how each record or footer changes it.

Segments are folded in log order. A message that is there enters its queue's index, and its bytes
its segment's books; whatever ends one takes both out again, and is a foreign range where it stands
in another segment. It is the same by record and by footer, since a footer holds nothing else.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from reference_broker.core.index.index import EntryState, QueueIndex
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.format import record
from reference_broker.store.format.footer import Footer, levels_of
from reference_broker.store.format.foreign_ranges import ForeignRanges
from reference_broker.store.format.record import RANGE_BYTES, MessageHead, RecordType
from reference_broker.store.format.scan import Found, Gap
from reference_broker.store.liveness.definitions import Definitions
from reference_broker.store.liveness.liveness import Liveness, SegmentUse
from reference_broker.store.liveness.losses import Losses
from reference_broker.store.start.recovered import PLACES_MAX, DamagedPlace, DamageReport, Part

NOTED = (RecordType.DEFINE, RecordType.DEFINITIONS, RecordType.CENSUS, RecordType.REMOVED)
"""Records that a footer only points to."""


class Fold:
    """The state of the log, as far as it was folded."""

    def __init__(self) -> None:
        self.definitions = Definitions()
        self.queues: dict[int, dict[int, QueueIndex]] = {}
        self.liveness = Liveness()
        self.damage = DamageReport()
        self.losses = Losses()
        self.epoch = 0
        self.redelivered_below = 0
        """Messages below this position count as redelivered, by the headers."""
        self.census: dict[int, None] = {}
        """Bases of the segments that should be there."""
        self.foreign_ranges: dict[int, ForeignRanges] = {}
        """By base: ranges of the segment that was folded last about others that are still there."""
        self._touched: dict[int, None] = {}
        self._exact = False
        self._last_epoch = -1
        self._apply_by_type: dict[int, Callable[[Found, SegmentUse], None]] = {
            RecordType.START: self._start,
            RecordType.ACK: self._ack,
            RecordType.REQUEUE: self._requeue,
            RecordType.DEFINE: self._define,
            RecordType.DEFINITIONS: self._definitions,
            RecordType.CENSUS: self._census,
            RecordType.REMOVED: self._removed,
        }

    # By footer

    def footer(self, footer: Footer, notes: Sequence[Found], use: SegmentUse) -> None:
        """A segment by its footer; ``notes`` are the records that it points to."""
        self._begin(use)
        self.epoch = max(self.epoch, footer.epoch)
        for found in notes:
            self._apply_by_type[found.payload[0]](found, use)
        for group in footer.groups:
            self._enter_group(group, use)
        for base, (acked, requeued) in footer.foreign_ranges.items():
            if self.liveness.find(base) is None and not self.losses.watching:
                continue
            # In this order: what came back may have been acked later.
            for queue_id, first, last in requeued:
                self._mark(queue_id, first, last, use)
            for queue_id, first, last in acked:
                self._settle(queue_id, first, last, use)
        self._end(use)

    def _enter_group(self, group: EntryColumns, use: SegmentUse) -> None:
        self._touched[group.queue_id] = None
        for level, columns in levels_of(group):
            index = self._index(group.queue_id, level)
            first = columns.sequences[0]
            if first < index.tail:
                self.damage.misplaced += len(columns.sequences)
                continue
            if self.losses.watching:
                self.losses.entered((group.queue_id, level), first)
            index.restore_columns(columns)
            use.live_bytes += sum(columns.stored)

    def compare(self, footer: Footer) -> None:
        """The segment that was scanned last has a sound footer: what that lists and wasn't found
        is lost. (Nothing that it lists was acked in the segment itself.)"""
        for group in footer.groups:
            for level, columns in levels_of(group):
                index = self._index(group.queue_id, level)
                for sequence in columns.sequences:
                    if sequence >= index.tail or index.state_of(sequence) is EntryState.GONE:
                        self.losses.missing(group.queue_id, sequence, sequence)

    # By record

    def scanned(self, items: Sequence[Found | Gap], use: SegmentUse, exact: bool) -> None:
        """A segment by its records. ``exact``: :meth:`compare` will count what is lost."""
        self._begin(use)
        self._exact = exact
        index = 0
        while index < len(items):
            item = items[index]
            index += 1
            if isinstance(item, Gap):
                self.quarantine(use, item)
                if not exact:
                    self.losses.gap(item.end - item.start, self._tails())
            elif item.payload[0] in record.MESSAGES:
                head = record.decode_message_head(item.payload)
                chunks = items[index : index + head.chunks]
                index += self._message(item, head, chunks, use)
            else:
                apply = self._apply_by_type.get(item.payload[0])
                if apply is not None:
                    apply(item, use)
        self._end(use)

    def quarantine(self, use: SegmentUse, gap: Gap, part: Part = Part.RECORDS) -> None:
        """Bytes that had been synced can't be read: their segment is never deleted."""
        damage, size_bytes = self.damage, gap.end - gap.start
        damage.quarantined_regions += 1
        damage.quarantined_bytes += size_bytes
        if len(damage.places) < PLACES_MAX:
            damage.places.append(DamagedPlace(use.name.file, gap.start, size_bytes, part))
        if not use.damaged:
            use.damaged = True
            damage.damaged_files.append(use.name.file)

    def _message(
        self, found: Found, head: MessageHead, chunks: Sequence[Found | Gap], use: SegmentUse
    ) -> int:
        """A PUBLISH or MOVE with the records that should be its chunks; how many of them are."""
        end = chunks_end(found, head, chunks)
        if end is None:
            # Its body is in a damaged place. A MOVE that has no message moved nothing.
            self.quarantine(use, Gap(found.position, found.end))
            for entry in () if self._exact else head.entries:
                self.losses.missing(entry.queue_id, entry.sequence, entry.sequence)
            return 0
        stored = record.stored_share(end - found.position, len(head.entries))
        for queue_id, _, sequence, expires_at_ms, _ in head.entries:
            index = self._index(queue_id, sequence >> LEVEL_SHIFT)
            if sequence < index.tail:
                self.damage.misplaced += 1
                continue
            if self.losses.watching:
                self.losses.entered((queue_id, sequence >> LEVEL_SHIFT), sequence)
            index.restore(
                sequence, found.position, head.body_length, stored, expires_at_ms=expires_at_ms
            )
            use.live_bytes += stored
            self._touched[queue_id] = None
        if head.source is not None:
            self._settle(head.source.queue_id, head.source.first, head.source.last, use)
        return len(chunks)

    def _start(self, found: Found, use: SegmentUse) -> None:
        self.epoch = max(self.epoch, record.decode_start(found.payload).epoch)

    def _ack(self, found: Found, use: SegmentUse) -> None:
        for queue_id, _, first, last in record.decode_ranges(found.payload):
            self._settle(queue_id, first, last, use)

    def _requeue(self, found: Found, use: SegmentUse) -> None:
        for queue_id, _, first, last in record.decode_ranges(found.payload):
            self._mark(queue_id, first, last, use)

    def _define(self, found: Found, use: SegmentUse) -> None:
        use.defines = True
        self.definitions.define(*record.decode_define(found.payload))

    def _definitions(self, found: Found, use: SegmentUse) -> None:
        self.definitions.replace(record.decode_definitions(found.payload))
        self.liveness.snapshot(use)

    def _census(self, found: Found, use: SegmentUse) -> None:
        self.census = dict.fromkeys(record.decode_bases(found.payload))

    def _removed(self, found: Found, use: SegmentUse) -> None:
        for base in record.decode_bases(found.payload):
            self.census.pop(base, None)

    # Entries

    def _begin(self, use: SegmentUse) -> None:
        if use.name.epoch != self._last_epoch:
            self.losses.end_of_run()
        self._last_epoch = use.name.epoch
        self.foreign_ranges = {}
        self._touched = {}

    def _end(self, use: SegmentUse) -> None:
        use.touched = array("Q", self._touched)
        for base, foreign in self.foreign_ranges.items():
            self.liveness.add_reference(
                self.liveness.segments[base], use, RANGE_BYTES * len(foreign)
            )

    def _foreign(self, other: SegmentUse) -> ForeignRanges:
        foreign = self.foreign_ranges.get(other.base)
        if foreign is None:
            foreign = self.foreign_ranges[other.base] = ForeignRanges()
        return foreign

    def _index(self, queue_id: int, level: int) -> QueueIndex:
        levels = self.queues.setdefault(queue_id, {})
        index = levels.get(level)
        if index is None:
            index = levels[level] = QueueIndex()
        return index

    def _tails(self) -> dict[tuple[int, int], int]:
        return {
            (queue_id, level): index.tail
            for queue_id, levels in self.queues.items()
            for level, index in levels.items()
        }

    def _settle(self, queue_id: int, first: int, last: int, by: SegmentUse) -> None:
        """The segment ``by`` has the acks of these entries."""
        if self.losses.watching:
            self.losses.acked(queue_id, first, last)
        index = self.queues.get(queue_id, {}).get(first >> LEVEL_SHIFT)
        if index is None:
            return
        for sequence, position, stored in index.forget_range(first, last):
            other = self.liveness.settle(position, stored)
            if other is not None and other is not by:
                self._foreign(other).acked.add(queue_id, sequence, sequence)

    def _mark(self, queue_id: int, first: int, last: int, by: SegmentUse) -> None:
        """The segment ``by`` has the requeues of these entries: handed out, and come back."""
        index = self.queues.get(queue_id, {}).get(first >> LEVEL_SHIFT)
        if index is None:
            return
        for sequence in range(first, min(last + 1, index.tail)):
            if index.state_of(sequence) is EntryState.READY:
                position = index.entry(sequence).position
                if position < self.redelivered_below:
                    continue
                index.mark_redelivered(sequence)
                other = self.liveness.find(position)
                if other is not None and other is not by:
                    self._foreign(other).requeued.add(queue_id, sequence, sequence)


def chunks_end(found: Found, head: MessageHead, chunks: Sequence[Found | Gap]) -> int | None:
    """The end of a message whose body should be in ``chunks``; ``None`` when not all are there."""
    end = found.end
    body_bytes = 0
    for chunk in chunks:
        if isinstance(chunk, Gap) or chunk.position != end:
            return None
        if chunk.payload[0] != RecordType.CHUNK:
            return None
        end = chunk.end
        body_bytes += len(chunk.payload) - len(record.CHUNK_PAYLOAD)
    return end if not head.chunks or body_bytes == head.body_length else None
