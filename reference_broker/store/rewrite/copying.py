"""Copying what is alive of some segments, by a plan, into the segment that takes their place.

Records are copied as they are, checksums and all; each is verified on the way, since a rotten
length would lead astray. What follows each other stays together, as one extent.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable

from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.errors import ReferenceBrokerError
from reference_broker.store.disk.damage import DAMAGE
from reference_broker.store.disk.ports import Disk, Piece
from reference_broker.store.format import record
from reference_broker.store.format.checksum import checksum_of
from reference_broker.store.format.chunks import ChunkDamaged, verified_chunks
from reference_broker.store.format.extents import Extent, ExtentTable, Origin, Place
from reference_broker.store.format.footer import (
    Footer,
    encode_footer,
    group_of,
    ranges_of,
    read_footer,
)
from reference_broker.store.format.foreign_ranges import EntryRanges, ForeignRanges
from reference_broker.store.format.read_window import FileEnds, ReadWindow
from reference_broker.store.format.record import (
    CHUNK_OVERHEAD_BYTES,
    FRAME,
    FRAME_BYTES,
    MESSAGES,
    PUBLISH_HEAD,
    RANGE_BYTES,
    MessageHead,
    RecordType,
    decode_message_head,
)
from reference_broker.store.format.segment import SegmentHeader
from reference_broker.store.format.trailer import encode_trailer
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult, Source
from reference_broker.store.rewrite.copy_file import CopyFailed, CopyFile

COPY_BYTES = 1024 * 1024
"""Bytes of one read, and of one write."""

PAUSE_RECORDS = 64
"""After so many records (a tenth of a millisecond) other threads get their turn."""

RANGES_PER_RECORD = 8192
"""An ACK or REQUEUE of 200 KiB: as long as other records are."""

_MASK = 0xFFFFFFFF
_REDELIVERED = int(EntryState.REDELIVERED)


class SourceUnreadable(ReferenceBrokerError):
    """A segment that was to be rewritten is damaged at ``position``, which nobody knew."""

    def __init__(self, source: Source, position: int, reason: object) -> None:
        super().__init__(f"{source.name.file} can't be read at log position {position}: {reason}")
        self.position = position


class SourceOutOfReach(CopyFailed):
    """A source can't be read just now (too many open files, no memory). It need not be damaged: try
    again later."""


def _unread(source: Source, position: int, error: OSError | FileEnds) -> ReferenceBrokerError:
    """The exception for a source that could not be read."""
    if isinstance(error, OSError) and error.errno not in DAMAGE:
        return SourceOutOfReach(f"{source.name.file} can't be read now: {error}")
    return SourceUnreadable(source, position, error)


class SegmentCopy:
    """One rewriting, to be written once."""

    def __init__(self, plan: RewritePlan, disk: Disk, pause: Callable[[], None]) -> None:
        self._plan = plan
        self._disk = disk
        self._pause = pause
        self._out = CopyFile(plan, disk)
        self._extents = ExtentTable()
        self._live: dict[int, set[int]] = {}
        self._dead = EntryRanges()
        # Records that follow each other, and will be one extent.
        self._run: list[Piece] = []
        self._run_origin: Origin | None = None
        self._run_position = 0
        self._run_end = 0

    def write(self) -> RewriteResult:
        """Raises :exc:`SourceUnreadable`, and :exc:`CopyFailed`: the copy can't be written, or a
        source not be read just now."""
        plan, out = self._plan, self._out
        header = SegmentHeader(plan.name, plan.checksum, plan.redelivered_below, plan.end)
        out.put(header.encode())
        foreign_ranges = self._foreign_ranges()
        positions = sorted({each for columns in plan.entries for each in columns.positions})
        for source in plan.sources:
            start = bisect_left(positions, source.name.base)
            end = bisect_left(positions, source.end)
            self._copy_records(source, positions[start:end])
        self._end_run()
        self._put_ranges(RecordType.ACK, self._dead)
        self._put_ranges(RecordType.REQUEUE, self._redelivered())
        for foreign in foreign_ranges.values():
            self._put_ranges(RecordType.ACK, foreign.acked)
            self._put_ranges(RecordType.REQUEUE, foreign.requeued)
        out.put_record(record.SEALED_PAYLOAD)
        self._put_footer(foreign_ranges)
        out.sync()
        foreign_bytes = {
            base: RANGE_BYTES * len(foreign) for base, foreign in foreign_ranges.items()
        }
        return RewriteResult(out.offset, self._extents, foreign_bytes)

    def _foreign_ranges(self) -> dict[int, ForeignRanges]:
        """The acks and requeues of the sources about segments that are still there."""
        foreign_ranges: dict[int, ForeignRanges] = {}
        for source in self._plan.sources:
            try:
                footer = read_footer(self._disk, source.name, source.checksum)
            except OSError as error:
                raise _unread(source, source.name.base, error) from error
            if footer is None:
                raise SourceUnreadable(source, source.name.base, "its footer is damaged")
            for base, listed in footer.foreign_ranges.items():
                if self._plan.carries(base):
                    foreign = foreign_ranges.setdefault(base, ForeignRanges())
                    for ranges, added in (
                        (foreign.acked, listed.acked),
                        (foreign.requeued, listed.requeued),
                    ):
                        for queue_id, first, last in added:
                            ranges.add(queue_id, first, last)
        return foreign_ranges

    # Records

    def _copy_records(self, source: Source, positions: list[int]) -> None:
        places = [source.place(position) for position in positions]
        window = ReadWindow(self._disk, source.name.file, [place.offset for place in places])
        for count, (position, place) in enumerate(zip(positions, places, strict=True), start=1):
            try:
                self._copy_record(source, window, position, place)
            except (FileEnds, OSError) as error:
                raise _unread(source, position, error) from error
            if count % PAUSE_RECORDS == 0:
                self._pause()

    def _copy_record(self, source: Source, window: ReadWindow, position: int, place: Place) -> None:
        size, body_length = self._measure(source, window, position, place)
        # Between records of different origins there is the header of a segment, at least.
        follows = self._run and position == self._run_end
        if not follows or position + size - self._run_position > COPY_BYTES:
            self._end_run()
            self._run_origin, self._run_position = source.origin(position), position
        self._run.append(window.take(place.offset, size))
        self._run_end = position + size
        if record.chunks_of(body_length):
            self._copy_chunks(source, window, position, place, size, body_length)

    def _measure(
        self, source: Source, window: ReadWindow, position: int, place: Place
    ) -> tuple[int, int]:
        """The size of a record, which is verified, and the length of its message's body."""
        length, expected = FRAME.unpack(window.take(place.offset, FRAME_BYTES))
        payload = window.take(place.offset + FRAME_BYTES, length)
        seed = place.seed ^ (position & _MASK)
        if not length or checksum_of(place.checksum)(payload, seed) != expected:
            raise SourceUnreadable(source, position, "the checksum is wrong")
        if payload[0] not in MESSAGES:
            raise SourceUnreadable(source, position, "it is no message")
        if payload[0] == RecordType.PUBLISH:
            _, entries, _, _, body_length = PUBLISH_HEAD.unpack_from(payload)
            if entries > 1:
                self._note_dead(decode_message_head(payload))
        else:
            head = decode_message_head(payload)
            body_length = head.body_length
            self._note_dead(head)
        return FRAME_BYTES + length, body_length

    def _copy_chunks(
        self,
        source: Source,
        window: ReadWindow,
        position: int,
        place: Place,
        at: int,
        body_length: int,
    ) -> None:
        """The chunks of a body, from ``at`` bytes behind the message's beginning. They stay behind
        their message, in the same extent, however long that gets."""
        self._run_end += body_length + record.chunks_of(body_length) * CHUNK_OVERHEAD_BYTES
        self._begin_extent()
        chunks = verified_chunks(
            window,
            place.offset + at,
            position + at,
            place.seed,
            checksum_of(place.checksum),
            body_length,
        )
        try:
            for chunk in chunks:
                self._out.put(chunk)
                self._pause()
        except ChunkDamaged as damage:
            raise SourceUnreadable(source, position, str(damage)) from None

    def _end_run(self) -> None:
        if self._run:
            self._begin_extent()

    def _begin_extent(self) -> None:
        """Write the run; what was counted into it and isn't in memory follows."""
        assert self._run_origin is not None
        extent = Extent(*self._run_origin, self._run_position, self._run_end - self._run_position)
        self._out.put_record(record.encode_extent(extent))
        self._extents.add(extent, self._out.offset)
        self._out.put(*self._run)
        self._run = []
        self._run_origin = None

    # Ranges of entries

    def _note_dead(self, head: MessageHead) -> None:
        """Note the entries of a message to several queues that are done with."""
        if not self._live:
            for columns in self._plan.entries:
                self._live.setdefault(columns.queue_id, set()).update(columns.sequences)
        for entry in head.entries:
            if entry.sequence not in self._live.get(entry.queue_id, ()):
                self._dead.add(entry.queue_id, entry.sequence, entry.sequence)

    def _redelivered(self) -> EntryRanges:
        ranges = EntryRanges()
        for columns in self._plan.entries:
            at = columns.states.find(_REDELIVERED)
            while at >= 0:
                sequence = columns.sequences[at]
                ranges.add(columns.queue_id, sequence, sequence)
                at = columns.states.find(_REDELIVERED, at + 1)
        return ranges

    def _put_ranges(self, kind: RecordType, ranges: Iterable[tuple[int, int, int]]) -> None:
        rest = list(ranges)
        for start in range(0, len(rest), RANGES_PER_RECORD):
            some = rest[start : start + RANGES_PER_RECORD]
            self._out.put_record(record.encode_ranges(kind, self._plan.epoch, some))

    def _put_footer(self, foreign_ranges: dict[int, ForeignRanges]) -> None:
        plan, out = self._plan, self._out
        queues: dict[int, list[EntryColumns]] = {}
        for columns in plan.entries:
            queues.setdefault(columns.queue_id, []).append(columns)
        groups = [group_of(queue_id, pieces) for queue_id, pieces in queues.items()]
        footer = Footer(
            RecordType.SEALED,
            plan.epoch,
            array("I"),
            [group for group in groups if group is not None],
            {base: ranges_of(foreign) for base, foreign in foreign_ranges.items()},
            self._extents,
        )
        payload = encode_footer(footer)
        offset = out.offset
        out.put_record(payload)
        out.put(encode_trailer(offset, len(payload)))
