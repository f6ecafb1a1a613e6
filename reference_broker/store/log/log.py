"""The log: the broker's journal as records, in segments, written in batches of disk operations.

Pure: no file is touched here. The runtime takes a batch, performs its operations in order, and
reports that; only then does ``synced`` rise. That order is the store's crash safety: rules 1 to 3
are in :mod:`reference_broker.store.log.segment_writer`, which puts records into segments, and

4. a rewritten segment gets its name after the sync of everything that was known when it was made,
   and the files that it replaces are deleted in a later batch.

Nobody waits for the sync of an ack. A batch of acks alone is written, so that they outlive the
process, and its sync is that of the next batch that has anything else, or that somebody waits for
(:attr:`Journal.awaited`), or comes :data:`ACKS_UNSYNCED_S` later: ``synced`` rises only then.

There is one order: an ack that was logged before a publish lies before it in the log. Only acks
(or requeues) that follow each other are folded into ranges, and their bytes are counted in
``tail`` from the first one on.

This is the hot path of the broker, hence some things said twice: :meth:`Log.ack` is written out
where a helper would do.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import takewhile

from reference_broker.core.index.column_sum import column_sum
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.store.disk import ports
from reference_broker.store.format import record
from reference_broker.store.format.checksum import PREFERRED, ChecksumKind
from reference_broker.store.format.footer import ENTRY_ROOM, NOTE_ROOM
from reference_broker.store.format.record import FRAME, FRAME_BYTES, RANGE_BYTES, RecordType
from reference_broker.store.format.segment import SEGMENT_BYTES
from reference_broker.store.liveness.batch import Batch
from reference_broker.store.liveness.definitions import Definitions
from reference_broker.store.liveness.fetch_request import FetchRequest
from reference_broker.store.liveness.liveness import Liveness
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult, Source
from reference_broker.store.log import publish_run
from reference_broker.store.log.deletions import Deletions
from reference_broker.store.log.foreign_ranges_by_segment import AckRow
from reference_broker.store.log.free_space import FOREIGN_RANGES_SLACK, MESSAGE_ROOM, SLACK
from reference_broker.store.log.pages import Pages
from reference_broker.store.log.publish_run import (
    Place,
    append_run,
    publish_payload,
)
from reference_broker.store.log.segment_writer import BATCH_BYTES, SegmentWriter
from reference_broker.store.rewrite.rewrite import choose
from reference_broker.store.rewrite.rewriting import Rewriting

ACKS_UNSYNCED_S = 0.02
"""Seconds after which acks are synced that nothing else was synced with: so much of them a loss of
power may undo. A tenth of the syncs of a consumer that acks one by one, or less."""

SNAPSHOT_GAIN = 2
"""Definitions are written again when that sets free this many times what it costs."""

_RANGE_ROOM = RANGE_BYTES + FOREIGN_RANGES_SLACK
_RANGES_ROOM = record.RANGES_HEAD_BYTES + _RANGE_ROOM

_MASK = 0xFFFFFFFF
_ACK = RecordType.ACK
_REQUEUE = RecordType.REQUEUE


class Log(SegmentWriter):
    """The broker's :class:`~reference_broker.core.journal.journal.Journal` on disk.

    A new log has its first segment and its START record pending: take the batch, perform it, and
    call :meth:`batch_synced` before anything is promised. With ``spare_bytes`` there is a spare
    file of that size, which becomes the first segment.
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
        spare_bytes: int = 0,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        liveness = liveness or Liveness()
        self._rewriting = Rewriting(liveness)
        super().__init__(
            liveness,
            Deletions(liveness, self._rewriting),
            epoch=epoch,
            tail=tail,
            redelivered_below=redelivered_below,
            checksum=checksum,
            segment_bytes=segment_bytes,
            spare_bytes=spare_bytes,
            batch_bytes=batch_bytes,
        )
        self.fetches: list[FetchRequest] = []
        self.pages = Pages(checksum=checksum)
        self._definitions = definitions or Definitions()
        self._in_flight: Batch | None = None
        self._sync_asked = False
        self._ranges: list[list[int]] = []
        self._open_ranges: dict[int, list[int]] = {}
        self._ranges_type = _ACK
        self._ranges_position = 0
        self._row: AckRow | None = None
        self._append(record.encode_start(epoch, clean))
        self._append_noted(self._liveness.census())
        self._append_definitions()
        self._rate()

    # The journal

    def publish(self, entries: Sequence[Entry], content: Content) -> None:
        if self._ranges:
            self._close_ranges()
        if len(entries) != 1 or len(content.body) > publish_run.BODY_PIECE_BYTES:
            head = record.encode_publish_head(entries, self.epoch, content)
            self._append_message(head, entries, content, SLACK)
            return
        entry = entries[0]
        payload = publish_payload(content, entry, self.epoch)
        length = len(payload)
        content.stored = stored = FRAME_BYTES + length
        position = self.tail
        limit = self._limit
        if position + stored > limit:
            position = self._admit(stored)
            limit = self._limit
        content.position = position
        segment = self._segment
        checksum = self._checksum(payload, segment.seed ^ (position & _MASK))
        self._pieces += (FRAME.pack(length, checksum), payload)
        self.tail = position + stored
        self._limit = limit - ENTRY_ROOM
        segment.live_bytes += stored
        if entry[0] not in segment.touched:
            self._touch(entry[0])

    def publish_run(self, entry: Entry, contents: Sequence[Content]) -> int:
        if self._ranges:
            self._close_ranges()
        segment = self._segment
        place = Place(
            self._pieces, self.tail, self._limit, self.epoch, segment.seed, self._checksum
        )
        messages, size_bytes = append_run(place, entry, contents)
        self.tail += size_bytes
        self._limit -= messages * ENTRY_ROOM
        segment.live_bytes += size_bytes
        if messages and entry.queue_id not in segment.touched:
            self._touch(entry.queue_id)
        return messages

    def ack(self, queue_id: int, sequence: int, position: int, stored: int) -> None:
        segment = self._segment
        if position >= segment.base:
            last = self._open_ranges.get(queue_id)
            if last is not None and last[2] + 1 == sequence and self._ranges_type is _ACK:
                last[2] = sequence
                segment.live_bytes -= stored
                return
        else:
            row = self._row
            if row is not None and row.goes_on(queue_id, sequence, position, stored):
                return
            if self.tail + _RANGES_ROOM > self._limit:
                self._make_room()
        self._add(_ACK, queue_id, sequence)
        self._settle(queue_id, sequence, position, stored)

    def ack_run(self, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        row = self._row
        segment = self._segment
        base = segment.base
        if row is not None and contents[0].position < base:
            return row.go_on(queue_id, sequence, contents)
        last = self._open_ranges.get(queue_id)
        if last is None or last[2] + 1 != sequence or self._ranges_type is not _ACK:
            return 0
        stored = [each.stored for each in takewhile(lambda each: each.position >= base, contents)]
        last[2] += len(stored)
        segment.live_bytes -= sum(stored)
        return len(stored)

    def ack_range(
        self, queue_id: int, first: int, positions: array[int], stored: array[int]
    ) -> None:
        # A segment may be sealed on the way, while all of these are still in the index: its footer
        # has its own entries only, and those of the segment in use come last, after any roll.
        count = len(positions)
        done = 0
        while done < count:
            position = positions[done]
            self.ack(queue_id, first + done, position, stored[done])
            done += 1
            end = self._end_of_segment(positions, done)
            if end == done:
                continue
            stored_bytes = column_sum(stored[done:end])
            done = end
            if position >= self._segment.base:
                self._open_ranges[queue_id][2] = first + end - 1
                self._segment.live_bytes -= stored_bytes
            else:
                assert self._row is not None, "an ack about another segment begins a row"
                self._row.go_on_by(first + end - 1, stored_bytes)

    def requeue(self, queue_id: int, sequence: int, position: int) -> None:
        if position < self.redelivered_below:
            return  # The headers have it already.
        if position < self._segment.base and self.tail + _RANGES_ROOM > self._limit:
            self._make_room()
        self._add(_REQUEUE, queue_id, sequence)
        use = self._liveness.find(position)
        if use is not None and use is not self._segment.use:
            self._limit -= self._segment.foreign_ranges.requeue(use, queue_id, sequence)

    def move(
        self,
        queue_id: int,
        sequence: int,
        position: int,
        stored: int,
        entries: Sequence[Entry],
        content: Content,
    ) -> None:
        head = record.encode_move_head(queue_id, self.epoch, sequence, entries, content)
        if self._ranges:
            self._close_ranges()
        self._append_message(head, entries, content, SLACK + FOREIGN_RANGES_SLACK)
        self._settle(queue_id, sequence, position, stored)

    def define(self, key: str, value: bytes | None) -> None:
        self._append_noted(record.encode_define(key, value))
        self._segment.use.defines = True
        self._definitions.define(key, value)

    def fetch(self, queue_id: int, sequences: array[int], positions: array[int]) -> None:
        self.fetches.append(FetchRequest(queue_id, sequences, positions))

    def page(self, content: Content) -> int:
        return self.pages.append(content)

    def unpage(self, position: int) -> None:
        self.pages.release(position)

    # Batches

    def take_batch(self) -> Batch | None:
        """The operations that are due on the disk; ``None`` when there are none, or while the batch
        before hasn't been given back to :meth:`batch_synced`. There may be another one after it:
        ask again."""
        if self._in_flight is not None:
            return None
        if not self._cut_batches:
            self._end_pending()
            if not self._cut_batches:
                return None
        self._in_flight = batch = self._cut_batches.popleft()
        if not self.free_space.at_rest:
            self._spare.use_in(batch.operations)
            self._rate()
        return batch

    def _end_pending(self) -> None:
        """Make a batch of what is pending, and of what is due on the disk beside it, if any."""
        last: list[ports.Operation] = []
        end_of_rewriting: list[ports.Operation] = []
        if not self._closed:
            held_bytes = self._liveness.held_by_definitions_bytes()
            if held_bytes > SNAPSHOT_GAIN * self._definitions.snapshot_bytes:
                self._append_definitions()
            deletion = self._deletions.take()
            if deletion.bases:
                self._append_noted(record.encode_bases(RecordType.REMOVED, deletion.bases))
            # Not before that record: with it a batch may have ended that has none of these.
            self._removed += deletion.removed
            end_of_rewriting = self._rewriting.take_operations(self.synced)
            last = deletion.operations + end_of_rewriting
            if not self.free_space.at_rest:
                self._spare.use_in(self._operations)
                last += self.free_space.ask_for_spare()
                self._rate()
        if self._ranges:
            self._close_ranges()
        waited_for = self._sync_asked or self.awaited > self.synced
        sync = waited_for or bool(self._operations or last) or not self._has_acks_only()
        if self._pieces or self._operations or last or (sync and self.sync_is_due):
            batch = self._end_batch(last, sync=sync)
            batch.ends_rewriting = bool(end_of_rewriting)
            self._cut_batches.append(batch)

    def _has_acks_only(self) -> bool:
        """Nothing is pending but acks and requeues, of which nobody waits for the sync."""
        slot = self._synced_slot
        return slot is None or self.tail - slot[1] == record.SYNCED_BYTES + self._ranges_bytes

    def batch_synced(self, batch: Batch) -> None:
        """All operations of ``batch`` were performed: promises below its end may be kept. When
        :attr:`sync_is_due` now, call :meth:`sync_soon` :data:`ACKS_UNSYNCED_S` later."""
        assert batch is self._in_flight
        self._in_flight = None
        self._sync_asked &= batch.end < self._written
        # A segment that was sealed in it may be rewritten from now on.
        self._liveness.worth_a_look |= self._segment.base > self.synced
        self.synced = batch.end
        self._liveness.removed(batch.removed)
        if not self.free_space.at_rest:
            self.free_space.batch_synced(
                batch.end, batch.spare_missing if batch.makes_spare else None
            )
            self._rate()
        if batch.ends_rewriting:
            self._rewriting.batch_synced()
        self._row = None

    @property
    def sync_is_due(self) -> bool:
        """Acks are written that nothing has synced: while a batch is in flight, that may."""
        return self._written > self.synced

    def sync_soon(self) -> None:
        """Have the next batch sync what is written, though nobody waits for it. Idempotent."""
        self._sync_asked = self.sync_is_due

    @property
    def spare_missing(self) -> bool:
        """There is no room on the disk for a segment ahead: sound the alarm, and
        :meth:`retry_spare` from time to time."""
        return self._spare.missing

    def retry_spare(self) -> None:
        """Have the next batch try again to make the spare segment. Idempotent."""
        self._spare.retry()

    def close(self) -> None:
        """The broker stops on purpose: nothing may be logged after this. Take and perform the
        batch that is pending now; what was in use is given back to the file system."""
        if self._ranges:
            self._close_ranges()
        self._admit(0)
        self._seal(RecordType.CLOSED)
        self._closed = True
        # Cut after the sync: a file that ends with its trailer proves that it was synced.
        name = self._segment.use.name
        cut = ports.TruncateFile(name.file, self.tail - name.base)
        self._cut_batches.append(self._end_batch([cut, ports.Sync(name.file)]))

    # Reading

    def source_of(self, position: int) -> Source | None:
        """The segment that has the record at ``position`` just now: it may be rewritten or deleted
        before you look. ``None`` when it was deleted."""
        return use.source() if (use := self._liveness.find(position)) is not None else None

    def damaged(self, position: int) -> None:
        """The record at ``position`` is damaged: its segment is put aside, and not rewritten."""
        if (use := self._liveness.find(position)) is not None:
            use.damaged = True

    # Rewriting

    @property
    def worth_a_look(self) -> bool:
        """:meth:`begin_rewrite` may have something, now or at one of the next looks."""
        return not self._closed and self._rewriting.possible

    def begin_rewrite(self, looks: int = 1) -> RewritePlan | None:
        """Look for what is worth rewriting: have it built, and :meth:`finish_rewrite` or
        :meth:`abandon_rewrite`. ``None`` when nothing is, or one is on its way. Each call is a
        look; what is rewritten was worth it at so many in a row."""
        if not self.worth_a_look:
            return None
        self._liveness.worth_a_look = self._liveness.look()
        written = [use for use in self._liveness if use.end <= self.synced]
        sources = choose(written, self._segment_bytes, looks)
        self._segment.foreign_ranges.close(sources)
        self._row = None
        return self._rewriting.begin(
            sources,
            self.entries(),
            epoch=self.epoch,
            redelivered_below=self.redelivered_below,
            tail=self.tail,
            checksum=self._checksum_kind,
        )

    def finish_rewrite(self, plan: RewritePlan, result: RewriteResult) -> None:
        """The copy is synced. A batch gives it its name once all that the plan knew is, too."""
        self._rewriting.finish(plan, result)

    def abandon_rewrite(self, plan: RewritePlan) -> None:
        """There is no copy, or there will be none: its sources stay as they are."""
        self._rewriting.abandon(plan)

    # Records

    def _append_message(
        self, head: bytes, entries: Sequence[Entry], content: Content, room: int
    ) -> None:
        """A PUBLISH or MOVE with its body, and the books of it."""
        body = content.body
        room += len(entries) * MESSAGE_ROOM
        chunks = record.chunks_of(len(body))
        if not chunks:
            position = self._append(head, body, room)
        else:
            size = FRAME_BYTES + len(head) + len(body) + chunks * record.CHUNK_OVERHEAD_BYTES + room
            if self.tail + size > self._limit:
                self._admit(size)
            position = self._put(head)
            view = memoryview(body)
            for start in range(0, len(body), record.CHUNK_BYTES):
                self._put(record.CHUNK_PAYLOAD, view[start : start + record.CHUNK_BYTES])
        content.position = position
        content.stored = stored = record.stored_share(self.tail - position, len(entries))
        segment = self._segment
        segment.live_bytes += stored * len(entries)
        segment.use.shared |= len(entries) > 1
        self._limit -= len(entries) * ENTRY_ROOM
        for entry in entries:
            if entry.queue_id not in segment.touched:
                self._touch(entry.queue_id)

    def _append_noted(self, payload: bytes) -> None:
        """A record that a start reads by itself, as the footer says where it is."""
        if self._ranges:
            self._close_ranges()
        self._note(self._append(payload, room=NOTE_ROOM))

    def _append_definitions(self) -> None:
        self._append_noted(record.encode_definitions(self._definitions.values))
        self._liveness.snapshot(self._segment.use)

    # Ranges, of this segment and of others

    def _add(self, kind: RecordType, queue_id: int, sequence: int) -> None:
        last = self._open_ranges.get(queue_id)
        if last is not None and last[2] + 1 == sequence and self._ranges_type is kind:
            last[2] = sequence
        else:
            self._add_range(kind, queue_id, sequence)

    def _add_range(self, kind: RecordType, queue_id: int, sequence: int) -> None:
        full = self.tail + _RANGE_ROOM > self._limit
        if self._ranges and (kind is not self._ranges_type or full):
            self._close_ranges()
        if not self._ranges:
            if self.tail + _RANGES_ROOM > self._limit:
                self._admit(_RANGES_ROOM)
            self._ranges_type = kind
            self._ranges_position = self.tail
            self.tail += record.RANGES_HEAD_BYTES
        self.tail += RANGE_BYTES
        added = [queue_id, sequence, sequence]
        self._ranges.append(added)
        self._open_ranges[queue_id] = added

    def _close_ranges(self) -> None:
        """Write the folded ranges as one record, where their first one was counted."""
        payload = record.encode_ranges(self._ranges_type, self.epoch, self._ranges)
        self._pieces += self._framed(payload, self._ranges_position, self._segment.seed)
        self._ranges_bytes += self.tail - self._ranges_position
        self._ranges.clear()
        self._open_ranges.clear()
        self._row = None

    def _make_room(self) -> None:
        """For a range about another segment, and for its place in the footer of this one."""
        if self._ranges:
            self._close_ranges()
        self._admit(_RANGES_ROOM)

    def _end_of_segment(self, positions: array[int], place: int) -> int:
        """The first place from ``place`` on whose position is not in the segment of the one before
        it. ``positions`` rise."""
        position = positions[place - 1]
        if position >= self._segment.base:
            return len(positions)
        use = self._liveness.find(position)
        return place if use is None else bisect_left(positions, use.end, place)

    def _settle(self, queue_id: int, sequence: int, position: int, stored: int) -> None:
        """The segment in use has the record that ends an entry of the message at ``position``."""
        segment = self._segment
        if position >= segment.base:
            segment.live_bytes -= stored
            return
        if (use := self._liveness.settle(position, stored)) is not None:
            self._limit -= segment.foreign_ranges.ack(use, queue_id, sequence)
            if (open_range := self._open_ranges.get(queue_id)) is not None:  # a MOVE has none
                self._row = segment.foreign_ranges.row(use, open_range)
