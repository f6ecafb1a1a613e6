"""What the segment in use says about all others, and the room that it takes in its footer."""

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
    """By segment, all that ``referrer`` says. Its bytes are counted in the books at once."""

    __slots__ = ("_by_base", "_liveness", "_referrer")

    def __init__(self, liveness: Liveness, referrer: SegmentUse) -> None:
        self._liveness = liveness
        self._referrer = referrer
        self._by_base: dict[int, ForeignRanges] = {}

    def ack(self, about: SegmentUse, queue_id: int, sequence: int) -> int:
        """An entry of another segment is done with. Returns the bytes of footer that this takes
        beyond what was there: take them off the limit."""
        room = self._room_for(about)
        return room + self._say(about, self._by_base[about.base].acked, queue_id, sequence)

    def requeue(self, about: SegmentUse, queue_id: int, sequence: int) -> int:
        """An entry of another segment came back. Returns the same as :meth:`ack`."""
        room = self._room_for(about)
        return room + self._say(about, self._by_base[about.base].requeued, queue_id, sequence)

    def row(self, about: SegmentUse, open_range: list[int]) -> AckRow:
        """What was acked last, ``about`` a segment and in ``open_range``, may be a row."""
        bounds = self._by_base[about.base].acked.bounds(open_range[0])
        return AckRow(self._liveness, about, open_range, bounds)

    def close(self, sources: Iterable[SegmentUse]) -> None:
        """What was said about ``sources`` so far is being baked. It ends each :class:`AckRow`."""
        for source in sources:
            if (foreign := self._by_base.get(source.base)) is not None:
                foreign.close()

    def ranges(self) -> dict[int, Ranges]:
        """For the footer, of the segments that are still there."""
        find = self._liveness.find
        told = self._by_base.items()
        return {base: ranges_of(foreign) for base, foreign in told if find(base) is not None}

    def _room_for(self, about: SegmentUse) -> int:
        if about.base in self._by_base:
            return 0
        self._by_base[about.base] = ForeignRanges()
        return FOREIGN_RANGES_ROOM

    def _say(self, about: SegmentUse, ranges: EntryRanges, queue_id: int, sequence: int) -> int:
        if not ranges.add(queue_id, sequence, sequence):
            return 0
        self._liveness.say(about, self._referrer, RANGE_BYTES)
        return FOOTER_RANGE_BYTES


class AckRow:
    """Acks in a row, of one queue and one other segment: the last one is the end of an open range
    of the log (queue id, first, last), and of a range of the foreign. Draining a backlog is little
    else: 0.35 us for each ack, where the way through all books takes 0.85.

    Make a new one when the open range is closed, the foreign is, or the segment may be replaced.
    """

    __slots__ = ("_about", "_bounds", "_liveness", "_open_range")

    def __init__(
        self, liveness: Liveness, about: SegmentUse, open_range: list[int], bounds: array[int]
    ) -> None:
        self._liveness = liveness
        self._about = about
        self._open_range = open_range
        self._bounds = bounds

    def goes_on(self, queue_id: int, sequence: int, position: int, stored: int) -> bool:
        """Whether this ack was the next one; then all is said and settled."""
        open_range, bounds, about = self._open_range, self._bounds, self._about
        if (
            open_range[2] + 1 != sequence
            or bounds[-1] + 1 != sequence
            or open_range[0] != queue_id
            or not about.base <= position < about.end
        ):
            return False
        open_range[2] = bounds[-1] = sequence
        about.live_bytes -= stored
        if about.live_bytes < about.watch_below:
            self._liveness.examine(about)
        return True

    def go_on(self, queue_id: int, sequence: int, contents: Iterable[Content]) -> int:
        """The same for messages with the sequences from ``sequence`` on; how many were next."""
        first = sequence
        for content in contents:
            if not self.goes_on(queue_id, sequence, content.position, content.stored):
                break
            sequence += 1
        return sequence - first
