"""A damaged segment, written anew: everything of it that is needed and can be read, as a rewritten
segment. That takes the place of the damaged file as any rewritten segment does.

It keeps what a rewriting never has to: definitions and a census. The acks and requeues that refer
to other segments are taken from its footer, or where that is damaged too, from its records.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress

from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.disk.ports import DeleteFile, Disk
from reference_broker.store.doctor.contents import alive_in
from reference_broker.store.doctor.inspection import Inspection
from reference_broker.store.format.footer import Footer, Ranges, encode_footer, ranges_of
from reference_broker.store.format.foreign_ranges import ForeignRanges
from reference_broker.store.format.record import (
    MESSAGES,
    Range,
    RecordType,
    decode_message_head,
    decode_ranges,
)
from reference_broker.store.format.trailer import encode_trailer
from reference_broker.store.liveness.liveness import SegmentUse
from reference_broker.store.liveness.rewrite_plan import RewritePlan
from reference_broker.store.rewrite.copying import SegmentCopy
from reference_broker.store.start.fold import NOTED
from reference_broker.store.start.recovered import RecoveredLog

_END = 1 << 64


@dataclass(slots=True, frozen=True)
class Salvage:
    """The readable content of one damaged segment."""

    plan: RewritePlan
    """Its one source is the damaged segment. All of its entries can be read."""
    noted: Sequence[bytes]
    """The payloads of the DEFINE, DEFINITIONS, CENSUS and REMOVED records, in their order."""
    foreign_ranges: Mapping[int, ForeignRanges]
    """By base: its ranges about other segments."""


def plan_salvage(
    disk: Disk, recovered: RecoveredLog, use: SegmentUse, unreadable: Collection[int]
) -> Salvage:
    """``unreadable`` are the positions of its live messages that can't be had. Raises ``OSError``
    as the disk gives it."""
    inspection = Inspection(disk, use.name)
    entries = (_readable(columns, unreadable) for columns in alive_in(recovered, use))
    plan = RewritePlan(
        name=use.name._replace(generation=use.name.generation + 1),
        end=use.end,
        sources=[use.source()],
        entries=[columns for columns in entries if columns.sequences],
        referenced=(),
        epoch=recovered.epoch - 1,
        redelivered_below=recovered.redelivered_below,
        tail=recovered.tail,
        checksum=inspection.checksum,
    )
    noted = [
        bytes(seen.payload)
        for seen in inspection.records()
        if seen.payload is not None and seen.kind in NOTED
    ]
    footer = inspection.footer()
    if footer is not None:
        foreign_ranges = {
            base: _foreign_ranges_of(ranges) for base, ranges in footer.foreign_ranges.items()
        }
    else:
        foreign_ranges = _foreign_ranges_by_record(disk, recovered, use, inspection)
    return Salvage(plan, noted, foreign_ranges)


def write_salvage(salvage: Salvage, disk: Disk) -> None:
    """Write ``plan.name.copy_file`` and sync it. Raises :exc:`SourceUnreadable` and
    :exc:`CopyFailed`; then no copy is left, if that is possible."""
    try:
        _SalvageCopy(salvage, disk).write()
    except BaseException:
        with suppress(OSError):
            disk.perform(DeleteFile(salvage.plan.name.copy_file))
        raise


class _SalvageCopy(SegmentCopy):
    """The copy that a rewriting makes, of a source whose footer may be damaged and that may hold
    definitions: both are handed in."""

    def __init__(self, salvage: Salvage, disk: Disk) -> None:
        super().__init__(salvage.plan, disk, lambda: None)
        self._salvage = salvage
        self._notes = array("I")

    def _foreign_ranges(self) -> dict[int, ForeignRanges]:
        """Asked for when the header is written: here the noted records come."""
        for payload in self._salvage.noted:
            self._notes.append(self._out.offset)
            self._out.put_record(payload)
        return dict(self._salvage.foreign_ranges)

    def _put_footer(self, foreign_ranges: dict[int, ForeignRanges]) -> None:
        plan, out = self._plan, self._out
        ranges = {base: ranges_of(foreign) for base, foreign in foreign_ranges.items()}
        footer = Footer(
            RecordType.SEALED, plan.epoch, self._notes, list(plan.entries), ranges, self._extents
        )
        payload = encode_footer(footer)
        offset = out.offset
        out.put_record(payload)
        out.put(encode_trailer(offset, len(payload)))


def _readable(columns: EntryColumns, unreadable: Collection[int]) -> EntryColumns:
    """The entries of ``columns`` whose message can be had."""
    keep = [position not in unreadable for position in columns.positions]
    expiries = columns.expiries
    return EntryColumns(
        columns.queue_id,
        array("Q", compress(columns.sequences, keep)),
        array("q", compress(columns.positions, keep)),
        array("I", compress(columns.sizes, keep)),
        array("I", compress(columns.stored, keep)),
        bytes(compress(columns.states, keep)),
        None if expiries is None else array("q", compress(expiries, keep)),
    )


def _foreign_ranges_of(ranges: Ranges) -> ForeignRanges:
    foreign = ForeignRanges()
    for listed, added in ((ranges.acked, foreign.acked), (ranges.requeued, foreign.requeued)):
        for queue_id, first, last in listed:
            added.add(queue_id, first, last)
    return foreign


def _by_place(settled: Range) -> tuple[int, int]:
    return settled.queue_id, settled.first


class _Settled:
    """Entries that one segment's records settle."""

    def __init__(self, settled: Iterable[Range]) -> None:
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for queue_id, _, first, last in sorted(settled, key=_by_place):
            ranges = self._ranges.setdefault(queue_id, [])
            if ranges and first <= ranges[-1][1] + 1:
                first = ranges[-1][0]
                last = max(last, ranges.pop()[1])
            ranges.append((first, last))

    def has(self, queue_id: int, sequence: int) -> bool:
        ranges = self._ranges.get(queue_id, [])
        place = bisect_right(ranges, (sequence, _END)) - 1
        return place >= 0 and ranges[place][1] >= sequence


def _foreign_ranges_by_record(
    disk: Disk, recovered: RecoveredLog, use: SegmentUse, inspection: Inspection
) -> dict[int, ForeignRanges]:
    """The entries of other segments that its ACK and MOVE records end: those records name entries,
    and the messages of the other segments show which of them are there. (Requeues are left out:
    after such damage everything counts as redelivered.)"""
    settled = _Settled(_settled_by(inspection))
    foreign_ranges = {}
    for base in use.references:
        other = recovered.liveness.find(base)
        if other is not None and other is not use:
            foreign = ForeignRanges()
            for queue_id, sequence in _entries(Inspection(disk, other.name)):
                if settled.has(queue_id, sequence):
                    foreign.acked.add(queue_id, sequence, sequence)
            foreign_ranges[other.base] = foreign
    return foreign_ranges


def _settled_by(inspection: Inspection) -> Iterator[Range]:
    for seen in inspection.records():
        if seen.payload is not None and seen.kind is RecordType.ACK:
            yield from decode_ranges(seen.payload)
        elif seen.payload is not None and seen.kind in MESSAGES:
            source = decode_message_head(seen.payload).source
            if source is not None:
                yield source


def _entries(inspection: Inspection) -> Iterator[tuple[int, int]]:
    """Every entry of every message of a segment."""
    for seen in inspection.records():
        if seen.payload is not None and seen.kind in MESSAGES:
            for entry in decode_message_head(seen.payload).entries:
                yield entry.queue_id, entry.sequence
