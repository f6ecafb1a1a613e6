"""The writer of segments: payloads become records, full segments are sealed, and all of it becomes
disk operations. It knows records and no messages; :class:`~reference_broker.store.log.log.Log`
decides what is logged.

The order of the operations is the store's crash safety:

1. records of the segment in use are written and synced before the next segment is created, so a
   segment's existence proves that everything before it is on disk;
2. a new segment's header and directory entry are synced before a record is written to it;
3. segments are deleted after the sync of the acks that made them dead, but before the next segment
   is created, since that may need their room; and the acks and requeues that refer to a deleted
   segment go only in a later batch, when that deletion is durable.

A batch has a bound in bytes: at the record that would go over it the batch is cut, and the next one
begins. So the bytes of one client don't make everybody's sync as long as they like.

A segment is sealed with a footer that is made from the queues' indexes. So an entry must be in its
index before anything else is logged, and stay there (taken) until the record that ends it is; and
whatever goes into the footer has its room taken off the segment's limit when it comes.
"""

from __future__ import annotations

from collections import deque

from reference_broker.core.journal.entry_sources import EntrySources
from reference_broker.core.journal.journal import EntrySource
from reference_broker.store.disk import ports
from reference_broker.store.format import record
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.footer import GROUP_ROOM, NOTE_ROOM, encode_footer
from reference_broker.store.format.record import FRAME, FRAME_BYTES, RecordType
from reference_broker.store.format.segment import HEADER_BYTES, SegmentHeader, SegmentName
from reference_broker.store.format.trailer import encode_trailer
from reference_broker.store.liveness.batch import Batch
from reference_broker.store.liveness.liveness import Liveness, SegmentUse
from reference_broker.store.liveness.spare import Spare
from reference_broker.store.log.deletions import REMOVED_ROOM, Deletions
from reference_broker.store.log.free_space import RESERVED_BYTES, SLACK, LogSpace
from reference_broker.store.log.open_segment import OpenSegment

_MASK = 0xFFFFFFFF

BATCH_BYTES = 4 * 1024 * 1024
"""Records of one batch, or a single one that is larger. A disk of 200 MB/s syncs so much in 20 ms;
with less than a MiB the sync itself would count."""


class SegmentWriter:
    """Appends records to the segment in use, and begins the next one when that is full.

    A base class, and no part of the log: ``tail`` and ``_limit`` are read and written for each
    message. ``_limit`` is 0 while no batch is pending, so that one comparison asks both "is there a
    batch" and "is there room".
    """

    def __init__(
        self,
        liveness: Liveness,
        deletions: Deletions,
        *,
        epoch: int,
        tail: int,
        redelivered_below: int,
        checksum: ChecksumKind,
        segment_bytes: int,
        spare_bytes: int,
        batch_bytes: int,
    ) -> None:
        self.tail = tail
        self.synced = tail
        self.awaited = tail
        self.epoch = epoch
        self._liveness = liveness
        self._deletions = deletions
        self._entries = EntrySources()
        self._checksum_kind = checksum
        self._checksum = checksum_of(checksum)
        self._segment_bytes = segment_bytes
        self._batch_bytes = batch_bytes
        self.redelivered_below = redelivered_below
        self._operations: list[ports.Operation] = []
        self._removed: list[SegmentUse] = []
        """The segments that ``_operations`` delete."""
        self._pieces: list[ports.Piece] = []
        self._synced_slot: tuple[list[ports.Piece], int, int] | None = None
        self._cut_batches: deque[Batch] = deque()
        self._ranges_bytes = 0
        """Of the pending batch, in records of acks and requeues."""
        self._written = tail
        """The log is written up to here, once the batch in flight is, and may not be synced yet."""
        self._closed = False
        self._limit = 0
        self._kept_back = 0
        """Bytes that the limit is lower for the sake of the batch's bound."""
        self._spare = Spare(spare_bytes)
        self.free_space = LogSpace(self._spare, liveness, segment_bytes, self._free_bytes)
        self._open_segment(0)

    def attach(self, entries: EntrySource) -> None:
        """Name one who has queues' indexes: footers are made from them. Call it before the first
        message of those queues."""
        self._entries.add(entries)

    def entries(self) -> EntrySource:
        """The queues' indexes that were attached."""
        assert self._entries, "attach was not called"
        return self._entries

    # Records

    def _append(self, head: bytes, body: ports.Piece = b"", room: int = 0) -> int:
        """One record whose payload is ``head`` and ``body``; returns its position. ``room`` is what
        it takes in the footer."""
        size = FRAME_BYTES + len(head) + len(body) + room
        if self.tail + size > self._limit:
            self._admit(size)
        return self._put(head, body)

    def _put(self, head: bytes, body: ports.Piece = b"") -> int:
        """One record at the tail, where there must be room; returns its position."""
        position = self.tail
        checksum = self._checksum(head, self._segment.seed ^ (position & _MASK))
        length = len(head) + len(body)
        if body:
            checksum = self._checksum(body, checksum)
            self._pieces += (FRAME.pack(length, checksum), head, body)
        else:
            self._pieces += (FRAME.pack(length, checksum), head)
        self.tail = position + FRAME_BYTES + length
        return position

    def _framed(self, payload: bytes, position: int, seed: int) -> tuple[bytes, bytes]:
        checksum = self._checksum(payload, seed ^ (position & _MASK))
        return FRAME.pack(len(payload), checksum), payload

    # The footer's room

    def _touch(self, queue_id: int) -> None:
        self._segment.touched[queue_id] = None
        self._limit -= GROUP_ROOM

    def _note(self, position: int) -> None:
        self._segment.note(position)
        self._limit -= NOTE_ROOM

    # Segments

    def _admit(self, size: int) -> int:
        """Make room for ``size`` bytes of record and footer: begin a batch if there is none, and a
        segment if this one is full. Returns the position that the record gets."""
        assert not self._closed, "nothing may be logged after close"
        if self._kept_back and self.tail + size > self._limit:
            self._cut_batch()
        if not self._limit:
            self._limit = self._idle_limit
        needed = size if self._synced_slot is not None else size + record.SYNCED_BYTES
        if self.free_space.withheld_bytes and self.tail + needed > self._limit:
            self._limit += self.free_space.release()
        full = self.tail + needed > self._limit
        if full:
            self._roll(needed)
        if self._synced_slot is None:
            self._synced_slot = (self._pieces, self.tail, self._segment.seed)
            self._pieces.append(b"")
            self.tail += record.SYNCED_BYTES
        if full:
            self._note(self._put(self._liveness.census()))
        self._bound_batch()
        return self.tail

    def _roll(self, needed: int) -> None:
        """Complete the segment in use, and begin the next one, with room for its census."""
        old = self._segment.use
        deletion = self._deletions.take_within(self._limit + SLACK + REMOVED_ROOM - self.tail)
        if deletion.bases:
            self._note(self._put(record.encode_bases(RecordType.REMOVED, deletion.bases)))
        self._seal(RecordType.SEALED)
        self._write_pieces(ports.TruncateFile(old.name.file, self.tail - old.base))
        self._operations += deletion.operations
        self._removed += deletion.removed
        census_bytes = FRAME_BYTES + len(self._liveness.census()) + record.BASE_BYTES
        self._open_segment(needed + census_bytes + NOTE_ROOM)
        self._limit = self._idle_limit
        self._rate()

    def _open_segment(self, needed: int) -> None:
        """Begin one at the tail, with room for ``needed`` bytes of record and footer."""
        name = SegmentName(self.tail, self.epoch)
        header = SegmentHeader(name, self._checksum_kind, self.redelivered_below).encode()
        creation, size = self.free_space.begin_segment(name.base, name.file, needed)
        use = self._liveness.add(SegmentUse(name, size, self._checksum_kind))
        self._segment = OpenSegment(use, self._liveness)
        self._operations += self._segment.create(creation, header)
        self._idle_limit = name.base + size - RESERVED_BYTES
        self.tail += HEADER_BYTES

    def _seal(self, end: RecordType) -> None:
        """Write the end of the segment in use: its last record, footer and trailer."""
        segment = self._segment
        self._put(bytes([end]))
        footer = encode_footer(segment.footer(end, self.epoch, self.entries, self.tail))
        position = self._put(footer)
        self._pieces.append(encode_trailer(position - segment.base, len(footer)))
        self.tail += len(self._pieces[-1])
        segment.seal(self.tail)

    # Batches

    def _cut_batch(self) -> None:
        """The next record would go over the bound of the pending batch: end it."""
        self._limit += self._kept_back
        self._kept_back = 0
        self._cut_batches.append(self._end_batch([]))

    def _bound_batch(self) -> None:
        """Have the limit no higher than where the pending batch is full."""
        if self._synced_slot is None:
            return
        self._limit += self._kept_back
        self._kept_back = max(0, self._limit - self._synced_slot[1] - self._batch_bytes)
        self._limit -= self._kept_back

    def _end_batch(self, last: list[ports.Operation], *, sync: bool = True) -> Batch:
        """Everything pending as a batch, with ``last`` at its end. Its SYNCED record is filled in.
        What is written and not synced is synced with it, unless ``sync`` is false."""
        start = self.tail
        if self._synced_slot is not None:
            pieces, start, seed = self._synced_slot
            pieces[0] = b"".join(self._framed(record.encode_synced(self.synced), start, seed))
            self._synced_slot = None
        in_place = not (self._operations or last)
        if self._pieces:
            self._operations.append(self._segment.write(self._pieces, self.tail))
            self._pieces = []
        if sync and (self._written > self.synced or self.tail > self._written):
            self._operations.append(ports.Sync(self._segment.use.name.file))
        self._written = self.tail
        if self._limit:
            self._idle_limit = self._limit + self._kept_back
            self._limit = self._kept_back = 0
        self._ranges_bytes = 0
        operations, self._operations = self._operations + last, []
        removed, self._removed = self._removed, []
        return Batch(
            operations,
            self.tail if sync else self.synced,
            removed,
            self.tail - start,
            in_place,
        )

    def _write_pieces(self, *before_sync: ports.Operation) -> None:
        """Write what is pending of the segment in use, and sync that."""
        if self._pieces:
            write = self._segment.write(self._pieces, self.tail)
            self._operations += [write, *before_sync, ports.Sync(write.file)]
            self._pieces = []

    # Free space

    def _free_bytes(self) -> int:
        """The bytes left in the segment in use."""
        limit = self._limit + self._kept_back or self._idle_limit
        return limit + self.free_space.withheld_bytes - self.tail

    def _rate(self) -> None:
        """Have the limit where room gets scarce."""
        raised = self.free_space.rate()
        self._idle_limit += raised
        if self._limit:
            self._limit += raised
            self._bound_batch()
