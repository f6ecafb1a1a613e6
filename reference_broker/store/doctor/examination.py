"""Examining a data folder: every byte of it is read, and nothing is changed.

A start believes the footers, and a sound footer hides a rotten record until the message is read.
Here each segment is read as a whole: its header, its records, its footer and trailer; and the
queues by footers are compared with the queues by records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.disk.ports import Disk
from reference_broker.store.doctor.contents import alive_in, look, positions_of, read_messages
from reference_broker.store.doctor.health import (
    Fault,
    FileState,
    Health,
    QueueHealth,
    SegmentHealth,
)
from reference_broker.store.doctor.inspection import Inspection, SeenRecord
from reference_broker.store.doctor.queue_names import queue_names
from reference_broker.store.format.footer import group_of
from reference_broker.store.format.record import ENDS, RecordType
from reference_broker.store.format.segment import HEADER_BYTES, QUARANTINE_SUFFIX, SegmentName
from reference_broker.store.format.trailer import TRAILER_BYTES
from reference_broker.store.liveness.liveness import SegmentUse
from reference_broker.store.start.recovered import LastSegment, RecoveredLog

NO_HEADER = "the header is damaged"
NO_RECORD = "no record can be read"
NO_FOOTER = "the footer or the trailer is damaged or missing"
CUT = "the file may have been cut: nobody knows how many messages were behind its end"

_END = 1 << 63


@dataclass(slots=True)
class Examination:
    """The log that a start would recover, the folder's health, and the unreadable messages."""

    recovered: RecoveredLog
    health: Health
    unreadable: dict[int, frozenset[int]]
    """By base of a damaged segment: the positions of its live messages that can't be had."""


def examine(disk: Disk, *, at_rest: bool = True) -> Examination:
    """``at_rest``: no broker works on the folder. Otherwise what is read later is newer, and isn't
    compared.

    Raises :exc:`StoreError` when the folder was written by a version that isn't known, and
    ``OSError`` as the disk gives it; ``FileNotFoundError`` says that a broker took a file away."""
    recovered = look(disk)
    queues = _Queues(recovered)
    segments = []
    unreadable = {}
    for use in _uses(recovered):
        segment = _examine_segment(disk, recovered, use)
        entries = alive_in(recovered, use)
        queues.add(segment, entries)
        if not segment.sound:
            messages = read_messages(disk, use.source(), positions_of(entries))
            bad = frozenset(each.position for each in messages if each.content is None)
            unreadable[use.base] = bad
            queues.lose(segment, bad, entries)
        segments.append(segment)
    health = Health(
        segments,
        queues.all(),
        list(recovered.damage.missing_segments),
        sorted(file for file in disk.list_files() if file.endswith(QUARANTINE_SUFFIX)),
        list(recovered.leftover),
    )
    if recovered.damage.misplaced:
        health.in_doubt.append(
            f"{recovered.damage.misplaced} messages stand before earlier ones of their queue"
        )
    if at_rest and health.sound:
        health.unlike += _differences(recovered, look(disk, trust_footers=False))
    return Examination(recovered, health, unreadable)


def _uses(recovered: RecoveredLog) -> Iterator[SegmentUse]:
    """All segments, the one of which nothing is kept included."""
    yield from recovered.liveness
    last = recovered.last
    if last is not None and last.use is None:
        yield SegmentUse(last.name, 0, last.checksum)


class _Queues:
    """Messages and losses of each queue, summed up over the segments."""

    def __init__(self, recovered: RecoveredLog) -> None:
        self._names = queue_names(recovered.definitions)
        self._queues: dict[int, QueueHealth] = {}
        for queue_id in self._names:
            self._queue(queue_id)
        for queue_id, lost in recovered.damage.lost.items():
            self._queue(queue_id).lost += lost

    def add(self, segment: SegmentHealth, entries: Iterable[EntryColumns]) -> None:
        for columns in entries:
            queue = self._queue(columns.queue_id)
            queue.messages += len(columns.sequences)
            queue.body_bytes += sum(columns.sizes)
            segment.live_messages += len(columns.sequences)
            segment.live_bytes += sum(columns.stored)

    def lose(
        self, segment: SegmentHealth, positions: frozenset[int], entries: Iterable[EntryColumns]
    ) -> None:
        """The live messages at ``positions`` can't be read."""
        for columns in entries if positions else ():
            queue = self._queue(columns.queue_id)
            rows = zip(columns.positions, columns.sizes, columns.stored, strict=True)
            for position, size, stored in rows:
                if position in positions:
                    queue.lost += 1
                    queue.messages -= 1
                    queue.body_bytes -= size
                    segment.live_messages -= 1
                    segment.live_bytes -= stored

    def all(self) -> list[QueueHealth]:
        return [self._queues[queue_id] for queue_id in sorted(self._queues)]

    def _queue(self, queue_id: int) -> QueueHealth:
        queue = self._queues.get(queue_id)
        if queue is None:
            name = self._names.get(queue_id)
            queue = QueueHealth(queue_id, name and name.vhost, name and name.name)
            self._queues[queue_id] = queue
        return queue


def _examine_segment(disk: Disk, recovered: RecoveredLog, use: SegmentUse) -> SegmentHealth:
    inspection = Inspection(disk, use.name)
    last = recovered.last
    if last is not None and last.name == use.name:
        return _Unfinished(inspection, last).health()
    health = _sealed_health(inspection)
    end = use.base + health.size_bytes
    following = bisect_right(recovered.liveness.bases, use.base)
    expected = [*recovered.liveness.bases[following:], recovered.tail][0]
    if not use.name.generation and end < expected and inspection.footer() is None:
        health.faults.append(Fault(health.size_bytes, 0, end, CUT))
    return health


def is_sound_file(disk: Disk, name: SegmentName) -> bool:
    """``True`` when all of a complete segment's file can be read, be it of use or not. Raises as
    :func:`examine` does."""
    return _sealed_health(Inspection(disk, name)).sound


def _sealed_health(inspection: Inspection) -> SegmentHealth:
    health = _new_health(inspection)
    end = HEADER_BYTES
    has_ended = False
    for seen in inspection.records():
        end = seen.end
        _note(health, seen, NO_FOOTER if has_ended else NO_RECORD)
        has_ended |= seen.kind in ENDS
    size_bytes = len(inspection.data)
    reached = max((fault.offset + fault.size_bytes for fault in health.faults), default=0)
    if inspection.footer() is None and reached <= size_bytes - TRAILER_BYTES:
        position = inspection.name.base + end
        health.faults.append(Fault(end, max(size_bytes - end, 0), position, NO_FOOTER))
    _check_header(health, inspection)
    return health


class _Unfinished:
    """The newest segment, where the broker didn't come to its end: what lies behind that which is
    trusted was never promised, so nothing can be wrong with it."""

    def __init__(self, inspection: Inspection, last: LastSegment) -> None:
        self._inspection = inspection
        self._last = last
        self._health = _new_health(inspection)

    def health(self) -> SegmentHealth:
        health, kept_bytes = self._health, self._last.kept_bytes
        closed = False
        for seen in self._inspection.records():
            if seen.end <= kept_bytes or (closed and seen.kind is RecordType.FOOTER):
                _note(health, seen)
                closed |= seen.kind is RecordType.CLOSED
            elif seen.payload is None and seen.offset < kept_bytes:
                _note(health, seen._replace(size_bytes=kept_bytes - seen.offset))
                health.torn_bytes += seen.end - kept_bytes
            else:
                health.torn_bytes += seen.size_bytes
        if not self._last.complete:
            health.state = FileState.OPEN
        if kept_bytes:
            _check_header(health, self._inspection)
        return health


def _new_health(inspection: Inspection) -> SegmentHealth:
    state = FileState.REWRITTEN if inspection.name.generation else FileState.SEALED
    return SegmentHealth(inspection.name, len(inspection.data), state)


def _note(health: SegmentHealth, seen: SeenRecord, unread: str = NO_RECORD) -> None:
    """Count a record. ``unread`` says what it is where it can't be read."""
    if seen.kind is None:
        health.faults.append(Fault(seen.offset, seen.size_bytes, seen.position, unread))
        return
    health.records[seen.kind] += 1
    if seen.kind is RecordType.CLOSED:
        health.state = FileState.CLOSED


def _check_header(health: SegmentHealth, inspection: Inspection) -> None:
    if inspection.header is None:
        health.faults.insert(0, Fault(0, HEADER_BYTES, inspection.name.base, NO_HEADER))


def _differences(trusted: RecoveredLog, scanned: RecoveredLog) -> list[str]:
    """Differences between the state by footers, which a start takes, and by records. Marks of
    redelivery are not compared: a footer has none for a message that was handed out just then."""
    found = []
    if scanned.damage.damaged:
        found.append(str(scanned.damage))
    if trusted.definitions != scanned.definitions:
        found.append("the definitions are not those that the records have")
    for queue_id in sorted(trusted.queues.keys() | scanned.queues.keys()):
        by_footer, by_record = (_columns(each, queue_id) for each in (trusted, scanned))
        if by_footer != by_record:
            counts = (len(columns[0]) for columns in (by_footer, by_record))
            found.append(
                "queue {}: {} messages by footer, {} by record, and not the same".format(
                    queue_id, *counts
                )
            )
    return found


def _columns(recovered: RecoveredLog, queue_id: int) -> tuple[Sequence[int], ...]:
    group = group_of(queue_id, recovered.live_entries(queue_id, 0, _END))
    if group is None:
        return ((),)
    expiries = group.expiries if group.expiries is not None and any(group.expiries) else ()
    return group.sequences, group.positions, group.sizes, group.stored, expiries
