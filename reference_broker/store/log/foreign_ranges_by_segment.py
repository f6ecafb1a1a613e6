"""The acks and requeues of the segment in use that refer to entries of other segments, and the room
that they take in its footer."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from reference_broker.core.message.content import Content
from reference_broker.store.format.footer import (
    FOOTER_RANGE_BYTES,
    FOREIGN_RANGES_ROOM,
    Ranges,
    ranges_of,
)
from reference_broker.store.format.foreign_ranges import EntryRanges, ForeignRanges
from reference_broker.store.format.record import RANGE_BYTES
from reference_broker.store.liveness.liveness import Liveness, SegmentUse


class ForeignRangesBySegment:
    """By segment, the ranges of ``referrer`` that refer to it. Their bytes are counted in the books
    at once."""

    __slots__ = ("_by_base", "_liveness", "_referrer")

    def __init__(self, liveness: Liveness, referrer: SegmentUse) -> None:
        self._liveness = liveness
        self._referrer = referrer
        self._by_base: dict[int, ForeignRanges] = {}

    def ack(self, other: SegmentUse, queue_id: int, sequence: int) -> int:
        """An entry of another segment is done with. Returns the bytes of footer that this takes
        beyond what was there: take them off the limit."""
        room = self._room_for(other)
        return room + self._add(other, self._by_base[other.base].acked, queue_id, sequence)

    def requeue(self, other: SegmentUse, queue_id: int, sequence: int) -> int:
        """An entry of another segment came back. Returns the same as :meth:`ack`."""
        room = self._room_for(other)
        return room + self._add(other, self._by_base[other.base].requeued, queue_id, sequence)

    def row(self, other: SegmentUse, open_range: list[int]) -> AckRow:
        """A row that begins with the newest ack: of an entry of ``other``, in ``open_range``."""
        bounds = self._by_base[other.base].acked.bounds(open_range[0])
        return AckRow(self._liveness, other, open_range, bounds)

    def close(self, sources: Iterable[SegmentUse]) -> None:
        """The ranges about ``sources`` so far are being baked. It ends each :class:`AckRow`."""
        for source in sources:
            if (foreign := self._by_base.get(source.base)) is not None:
                foreign.close()

    def ranges(self) -> dict[int, Ranges]:
        """For the footer, of the segments that are still there."""
        find = self._liveness.find
        by_base = self._by_base.items()
        return {base: ranges_of(foreign) for base, foreign in by_base if find(base) is not None}

    def _room_for(self, other: SegmentUse) -> int:
        if other.base in self._by_base:
            return 0
        self._by_base[other.base] = ForeignRanges()
        return FOREIGN_RANGES_ROOM

    def _add(self, other: SegmentUse, ranges: EntryRanges, queue_id: int, sequence: int) -> int:
        if not ranges.add(queue_id, sequence, sequence):
            return 0
        self._liveness.add_reference(other, self._referrer, RANGE_BYTES)
        return FOOTER_RANGE_BYTES


class AckRow:
    """Acks in a row, of one queue and one other segment: the last one is the end of an open range
    of the log (queue id, first, last), and of a foreign range. Draining a backlog is little else:
    0.35 us for each ack, where the way through all books takes 0.85.

    Make a new one when either range is closed, or the segment may be replaced.
    """

    __slots__ = ("_bounds", "_liveness", "_open_range", "_segment")

    def __init__(
        self, liveness: Liveness, segment: SegmentUse, open_range: list[int], bounds: array[int]
    ) -> None:
        self._liveness = liveness
        self._segment = segment
        self._open_range = open_range
        self._bounds = bounds

    def goes_on(self, queue_id: int, sequence: int, position: int, stored: int) -> bool:
        """Take this ack if it is the next one of the row: then it is in both ranges, and settled.
        ``False``, and nothing done, if it is not."""
        open_range, bounds, segment = self._open_range, self._bounds, self._segment
        if (
            open_range[2] + 1 != sequence
            or bounds[-1] + 1 != sequence
            or open_range[0] != queue_id
            or not segment.base <= position < segment.end
        ):
            return False
        open_range[2] = bounds[-1] = sequence
        segment.live_bytes -= stored
        if segment.live_bytes < segment.watch_below:
            self._liveness.examine(segment)
        return True

    def go_on(self, queue_id: int, sequence: int, contents: Iterable[Content]) -> int:
        """As :meth:`goes_on`, for messages with the sequences from ``sequence`` on, up to the first
        that is not the next; returns the number of acks that were taken."""
        first = sequence
        for content in contents:
            if not self.goes_on(queue_id, sequence, content.position, content.stored):
                break
            sequence += 1
        return sequence - first

    def go_on_by(self, last: int, stored_bytes: int) -> None:
        """The entries up to ``last`` follow the newest ack of the row, in its queue and segment,
        and are accounted for ``stored_bytes`` together: take their acks."""
        self._open_range[2] = self._bounds[-1] = last
        self._segment.live_bytes -= stored_bytes
        if self._segment.live_bytes < self._segment.watch_below:
            self._liveness.examine(self._segment)
