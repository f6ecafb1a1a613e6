"""The log: turns what must survive into records, and records into batches of disk operations.

Pure: no file is touched here. The runtime takes a batch, performs its operations in order, and
says so; only then does ``synced`` rise. The order of the operations is the store's crash safety:

1. records of the segment in use are written and synced before the next segment is created, so a
   segment's existence proves that everything before it is on disk;
2. a new segment's header and directory entry are synced before a record is written to it;
3. segments are deleted after the sync of the acks that made them dead, and what speaks about a
   deleted segment goes only in a later batch, when that deletion is durable.

There is one order: an ack that was logged before a publish lies before it in the log. Only acks
(or requeues) that follow each other are folded into ranges, and their bytes are counted in
``tail`` from the first one on.

This is the hot path of the broker, hence some things said twice: :meth:`Log.publish` and
:meth:`Log.ack` are written out where a helper would do, and ``_limit`` is 0 while no batch is
pending, so that one comparison asks both "is there a batch" and "is there room".
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.core.content import Content
from reference_broker.core.journal import Entry
from reference_broker.store import record
from reference_broker.store.batch import Batch
from reference_broker.store.checksum import PREFERRED, ChecksumKind, checksum_of
from reference_broker.store.definitions import Definitions
from reference_broker.store.liveness import Liveness, SegmentUse
from reference_broker.store.ports import (
    CreateFile,
    DeleteFile,
    Operation,
    RenameFile,
    Sync,
    SyncDirectory,
    TruncateFile,
    Write,
)
from reference_broker.store.record import (
    FRAME,
    FRAME_BYTES,
    PUBLISH_ONE,
    RANGE_BYTES,
    RANGES_HEAD_BYTES,
    SEALED_BYTES,
    SYNCED_BYTES,
    RecordType,
)
from reference_broker.store.segment import (
    HEADER_BYTES,
    QUARANTINE_SUFFIX,
    SEGMENT_BYTES,
    SegmentHeader,
    SegmentName,
    segment_bytes_for,
)

BODY_PIECE_BYTES = 64 * 1024
"""A larger body is written from where it is; a smaller one is copied next to its head, which is
cheaper than a second checksum call."""

MOVE_INLINE_BYTES = 4 * 1024
"""A MOVE repeats a body up to this size: that costs less than keeping its old segment."""

MOVE_REFERS_BACK_BYTES = 64 * 1024 * 1024
"""A MOVE refers to a body that was written at most this far back. Otherwise a message that is
retried for ever would keep its first segment, and with it each segment that speaks about it."""

SNAPSHOT_GAIN = 2
"""Definitions are written again when that sets free this many times what it costs."""

MESSENGER_GAIN = 4
"""Acks are written again when that sets free this many times what it costs."""

_MASK = 0xFFFFFFFF
_PUBLISH = int(RecordType.PUBLISH)
_ACK = RecordType.ACK
_REQUEUE = RecordType.REQUEUE


class Log:
    """The broker's :class:`~reference_broker.core.journal.Journal` on disk.

    A new log has its first segment and its START record pending: take the batch, perform it, and
    call :meth:`batch_synced` before anything is promised.
    """

    def __init__(
        self,
        *,
        epoch: int = 1,
        tail: int = 0,
        clean: bool = True,
        redelivered_below: int = 0,
        definitions: Definitions | None = None,
        liveness: Liveness | None = None,
        checksum: ChecksumKind = PREFERRED,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.tail = tail
        self.synced = tail
        self.epoch = epoch
        self._definitions = definitions or Definitions()
        self._liveness = liveness or Liveness()
        self._moved = self._liveness.moved
        self._checksum_kind = checksum
        self._checksum = checksum_of(checksum)
        self._segment_bytes = segment_bytes
        self._redelivered_below = redelivered_below
        self._operations: list[Operation] = []
        self._pieces: list[bytes] = []
        self._synced_slot: tuple[list[bytes], int, int] | None = None
        self._in_flight: Batch | None = None
        self._closed = False
        self._limit = 0
        self._ranges: list[list[int]] = []
        self._open_ranges: dict[int, list[int]] = {}
        self._ranges_type = _ACK
        self._ranges_position = 0
        self._open_segment(0)
        self._append(record.encode_start(epoch, clean))
        self._append_definitions()

    def publish(self, entries: Sequence[Entry], content: Content) -> int:
        if self._ranges:
            self._close_ranges()
        route = content.route
        header = content.header
        body = content.body
        if len(entries) == 1:
            queue_id, sequence, expires_at_ms, priority = entries[0]
            head = (
                PUBLISH_ONE.pack(
                    _PUBLISH,
                    1,
                    len(route),
                    len(header),
                    queue_id,
                    self.epoch,
                    sequence,
                    expires_at_ms,
                    priority,
                )
                + route
                + header
            )
        else:
            head = record.encode_publish_head(entries, self.epoch, content)
        if len(body) > BODY_PIECE_BYTES:
            position = self._append(head, body)
        else:
            payload = head + body
            length = len(payload)
            position = self.tail
            if position + FRAME_BYTES + length > self._limit:
                position = self._admit(FRAME_BYTES + length)
            checksum = self._checksum(payload, self._seed ^ (position & _MASK))
            pieces = self._pieces
            pieces.append(FRAME.pack(length, checksum))
            pieces.append(payload)
            self.tail = position + FRAME_BYTES + length
        self._active.live += len(entries)
        return position

    def ack(self, queue_id: int, sequence: int, position: int) -> None:
        last = self._open_ranges.get(queue_id)
        if last is not None and last[2] + 1 == sequence and self._ranges_type is _ACK:
            last[2] = sequence
        else:
            self._add_range(_ACK, queue_id, sequence)
        active = self._active
        if position >= active.base and not self._moved:
            active.live -= 1
        else:
            self._liveness.settle(position, queue_id, sequence, active)

    def requeue(self, queue_id: int, sequence: int, position: int) -> None:
        last = self._open_ranges.get(queue_id)
        if last is not None and last[2] + 1 == sequence and self._ranges_type is _REQUEUE:
            last[2] = sequence
        else:
            self._add_range(_REQUEUE, queue_id, sequence)
        self._liveness.requeue(position, queue_id, sequence, self._active)

    def move(
        self,
        queue_id: int,
        sequence: int,
        position: int,
        entries: Sequence[Entry],
        content: Content,
    ) -> int:
        body = content.body
        # Only to a record that has the body itself. A chain of MOVEs would have to be kept whole,
        # with each segment that one of its links is in, for recovery to find the body.
        refers = (
            len(body) > MOVE_INLINE_BYTES
            and position >= self.tail - MOVE_REFERS_BACK_BYTES
            and position not in self._moved
        )
        stored_at = position if refers else record.BODY_INLINE
        head = record.encode_move_head(queue_id, self.epoch, sequence, stored_at, entries, content)
        if self._ranges:
            self._close_ranges()
        moved_to = self._append(head, b"" if refers else body)
        self._active.live += len(entries)
        if refers:
            self._liveness.refer(moved_to, position, len(entries))
        self._liveness.settle(position, queue_id, sequence, self._active)
        return moved_to

    def define(self, key: str, value: bytes | None) -> None:
        if self._ranges:
            self._close_ranges()
        self._append(record.encode_define(key, value))
        self._active.defines = True
        self._definitions.define(key, value)

    def take_batch(self) -> Batch | None:
        """What there is to do on the disk; ``None`` when there is nothing, or while the batch
        before it hasn't been given back to :meth:`batch_synced`."""
        if self._in_flight is not None:
            return None
        held_bytes = self._liveness.held_by_definitions_bytes()
        if held_bytes > SNAPSHOT_GAIN * self._definitions.snapshot_bytes and not self._closed:
            self._append_definitions()
        if not self._closed:
            self._say_again()
        dead = self._liveness.take_dead()
        if not (self._pieces or self._ranges or self._operations or dead):
            return None
        self._flush()
        self._operations += [self._removal(use) for use in dead]
        if dead:
            self._operations.append(SyncDirectory())
        batch = Batch(self._operations, self.tail, dead)
        self._operations = []
        self._in_flight = batch
        return batch

    def batch_synced(self, batch: Batch) -> None:
        """All operations of ``batch`` were performed: promises below its end may be kept."""
        assert batch is self._in_flight
        self._in_flight = None
        self.synced = batch.end
        self._liveness.removed(batch.removed)

    def close(self) -> None:
        """The broker stops on purpose: nothing may be logged after this. Take and perform the
        batch that is pending now; what was in use is given back to the file system."""
        if self._ranges:
            self._close_ranges()
        self._append(record.CLOSED_PAYLOAD)
        self._closed = True
        self._flush()
        name = self._active.name
        self._operations.append(TruncateFile(name.file, self.tail - name.base))

    def _append(self, head: bytes, body: bytes = b"") -> int:
        """One record whose payload is ``head`` and ``body``; returns its position. Pending ranges
        must have been closed."""
        size = FRAME_BYTES + len(head) + len(body)
        position = self.tail
        if position + size > self._limit:
            position = self._admit(size)
        checksum = self._checksum(head, self._seed ^ (position & _MASK))
        if body:
            checksum = self._checksum(body, checksum)
        self._pieces += (FRAME.pack(len(head) + len(body), checksum), head, body)
        self.tail = position + size
        return position

    def _append_definitions(self) -> None:
        if self._ranges:
            self._close_ranges()
        self._append(record.encode_definitions(self._definitions.values))
        self._liveness.snapshot(self._active)

    def _admit(self, size: int) -> int:
        """Make room for a record of ``size`` bytes: begin a batch if there is none, and a segment
        if this one is full. Returns the record's position."""
        assert not self._closed, "nothing may be logged after close"
        needed = size if self._synced_slot is not None else size + SYNCED_BYTES
        if self.tail + needed > self._segment_limit:
            self._roll(needed)
        if self._synced_slot is None:
            self._synced_slot = (self._pieces, self.tail, self._seed)
            self._pieces.append(b"")
            self.tail += SYNCED_BYTES
        self._limit = self._segment_limit
        return self.tail

    def _roll(self, needed: int) -> None:
        """Complete the segment in use, and begin the next one where it ends."""
        old = self._active
        self._pieces += self._framed(record.SEALED_PAYLOAD, self.tail, self._seed)
        self.tail += SEALED_BYTES
        self._flush_pieces()
        self._liveness.seal(old, self.tail)
        self._open_segment(needed)

    def _open_segment(self, needed: int) -> None:
        name = SegmentName(self.tail, self.epoch)
        size = segment_bytes_for(needed + SEALED_BYTES, self._segment_bytes)
        header = SegmentHeader(name, self._checksum_kind, self._redelivered_below).encode()
        self._operations += [
            CreateFile(name.file, size),
            Write(name.file, 0, [header]),
            Sync(name.file),
            SyncDirectory(),
        ]
        self._active: SegmentUse = self._liveness.add(name, size)
        self._seed = name.seed
        self._segment_limit = name.base + size - SEALED_BYTES
        self.tail += HEADER_BYTES
        self._pieces_at = self.tail

    def _add_range(self, kind: RecordType, queue_id: int, sequence: int) -> None:
        if self._ranges and (
            kind is not self._ranges_type or self.tail + RANGE_BYTES > self._segment_limit
        ):
            self._close_ranges()
        if not self._ranges:
            size = RANGES_HEAD_BYTES + RANGE_BYTES
            position = self.tail
            if position + size > self._limit:
                position = self._admit(size)
            self._ranges_type = kind
            self._ranges_position = position
            self.tail = position + RANGES_HEAD_BYTES
        self.tail += RANGE_BYTES
        added = [queue_id, sequence, sequence]
        self._ranges.append(added)
        self._open_ranges[queue_id] = added

    def _say_again(self) -> None:
        """Take over the acks and requeues of segments that are needed for nothing else."""
        for about, speech in self._liveness.take_messengers(RANGE_BYTES, MESSENGER_GAIN):
            for queue_id, first, last in speech.acked:
                self._add_range(_ACK, queue_id, first)
                self._ranges[-1][2] = last
                self._liveness.speech(about, self._active).acked.add(queue_id, first, last)
            for queue_id, first, last in speech.requeued:
                self._add_range(_REQUEUE, queue_id, first)
                self._ranges[-1][2] = last
                self._liveness.speech(about, self._active).requeued.add(queue_id, first, last)

    def _close_ranges(self) -> None:
        """Write the folded ranges as one record, where their first one was counted."""
        payload = record.encode_ranges(self._ranges_type, self.epoch, self._ranges)
        self._pieces += self._framed(payload, self._ranges_position, self._seed)
        self._ranges.clear()
        self._open_ranges.clear()

    def _framed(self, payload: bytes, position: int, seed: int) -> tuple[bytes, bytes]:
        checksum = self._checksum(payload, seed ^ (position & _MASK))
        return FRAME.pack(len(payload), checksum), payload

    def _flush(self) -> None:
        """Turn everything pending into operations, and end the batch."""
        if self._ranges:
            self._close_ranges()
        if self._synced_slot is not None:
            pieces, position, seed = self._synced_slot
            pieces[0] = b"".join(self._framed(record.encode_synced(self.synced), position, seed))
            self._synced_slot = None
        self._flush_pieces()
        self._limit = 0

    def _flush_pieces(self) -> None:
        if self._pieces:
            name = self._active.name
            write = Write(name.file, self._pieces_at - name.base, self._pieces)
            self._operations += [write, Sync(name.file)]
            self._pieces = []
            self._pieces_at = self.tail

    def _removal(self, use: SegmentUse) -> Operation:
        if use.damaged:
            return RenameFile(use.name.file, use.name.file + QUARANTINE_SUFFIX)
        return DeleteFile(use.name.file)
