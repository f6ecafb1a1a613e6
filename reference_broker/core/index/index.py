"""The index of a queue: position, size and state of its messages, with no object per ready message.

The law: a message's state is the byte that the index has for its sequence, it changes only as
:data:`TRANSITIONS` says, and everything else (counts, cursor) follows from it.

An index is chunks of consecutive sequences, each chunk a few parallel columns::

    sequence   base   base+1  base+2  ...      up to CHUNK_ENTRIES, aligned: sequence >> CHUNK_BITS
    states     |  3  |   2   |   0   |         bytearray: READY, REDELIVERED, TAKEN, GONE
    positions  |  q  |   q   |   q   |         where the journal has the message (see Journal)
    sizes      |  I  |   I   |   I   |         bytes of the body
    stored     |  I  |   I   |   I   |         bytes of the log that are the entry's share
    expiries   |  q  |   q   |   q   |         wall ms, 0 for never; only once an entry needs it

The next ready entry is a ``bytearray.find`` from the head cursor. Every ready entry is at or after
the cursor: a requeue sets its byte and moves the cursor back, which is the original order. A chunk
whose entries are all gone is dropped. Log positions rise with the sequences, since both are given
in order of publishing; entries that the log doesn't have may stand anywhere between.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from reference_broker.core.index.chunk import GONE, READY, REDELIVERED, TAKEN, Chunk
from reference_broker.core.index.column_sum import column_sum
from reference_broker.core.index.entry_rows import EntryRun, IndexEntry, ReadyRun
from reference_broker.core.index.entry_state import TRANSITIONS, EntryState, IllegalTransition
from reference_broker.core.journal.journal import EntryColumns

__all__ = [
    "CHUNK_BITS", "CHUNK_ENTRIES", "RECYCLED_ENTRIES", "TRANSITIONS",
    "EntryRun", "EntryState", "IllegalTransition", "IndexEntry", "QueueIndex", "ReadyRun",
]  # fmt: skip

CHUNK_BITS = 12
CHUNK_ENTRIES = 1 << CHUNK_BITS
"""Entries of a full chunk. A find in 4,096 bytes takes about as long as one Python call, and a
chunk that one unacked message keeps alive costs 70 KB, or 102 KB with expiries."""

RECYCLED_ENTRIES = 256
"""A newest chunk with nothing live in it is dropped from this many entries on, so that a thousand
queues that are drained as they fill don't hold a full chunk each."""

RUN_ENTRIES = 256
"""Of one run, at most: a longer one would not cost less for each."""
_READY, _TAKEN, _GONE = (bytes((state,)) for state in (READY, TAKEN, GONE))


class QueueIndex:
    """The entries of one queue, or of one priority level of it, in order of sequence.

    ``tail`` is the sequence that the next :meth:`append` will have. ``ready`` and ``ready_bytes``
    count what can be taken; ``held_bytes`` counts what is handed out too. Bytes are the bodies'.
    """

    __slots__ = (
        "_chunks", "_cursor", "_grow_at", "_head", "_last", "_numbers",
        "held_bytes", "ready", "ready_bytes", "tail",
    )  # fmt: skip

    def __init__(self, start: int = 0) -> None:
        self.tail = start
        self.ready = 0
        self.ready_bytes = 0
        self.held_bytes = 0
        self._chunks: dict[int, Chunk] = {}
        self._numbers: list[int] = []
        self._head = self._last = Chunk(start)  # stands in until the first entry
        self._cursor = 0
        self._grow_at = start

    def __len__(self) -> int:
        """Entries that are not gone."""
        return sum(chunk.live for chunk in self._chunks.values())

    @property
    def column_bytes(self) -> int:
        """Accounted bytes of the columns, with entries that are gone: a chunk goes as a whole."""
        return sum([chunk.column_bytes for chunk in self._chunks.values()])

    def append(self, position: int, size: int, stored: int, expires_at_ms: int = 0) -> int:
        """Add a ready entry at the tail; returns its sequence."""
        sequence = self.tail
        if sequence == self._grow_at:
            self._grow(sequence)
        chunk = self._last
        if expires_at_ms or chunk.expiries is not None:
            chunk.with_expiries().append(expires_at_ms)
        chunk.states.append(READY)
        chunk.positions.append(position)
        chunk.sizes.append(size)
        chunk.stored.append(stored)
        chunk.live += 1
        self.ready += 1
        self.ready_bytes += size
        self.held_bytes += size
        self.tail = sequence + 1
        return sequence

    def append_run(self, positions: array[int], sizes: array[int], stored: array[int]) -> int:
        """:meth:`append` many without an expiry, given as columns; returns the first's sequence."""
        first = self.tail
        start, count = 0, len(sizes)
        while start < count:
            if self.tail == self._grow_at:
                self._grow(self.tail)
            end = min(count, start + self._grow_at - self.tail)
            self._last.append_ready(positions[start:end], sizes[start:end], stored[start:end])
            self.tail += end - start
            start = end
        size = sum(sizes)
        self.ready += count
        self.ready_bytes += size
        self.held_bytes += size
        return first

    def take(self) -> tuple[int, bool] | None:
        """Take the first ready entry: its sequence, and whether it was handed out before.

        ``None`` when nothing is ready. The caller settles it, requeues it or puts it back.
        """
        chunk = self._head
        states = chunk.states
        offset = states.find(READY, self._cursor)
        redelivered = False
        if offset < 0 or chunk.returned:
            if not self.ready:
                return None
            chunk, offset = self._seek()
            states = chunk.states
            if states[offset] == REDELIVERED:
                chunk.returned -= 1
                redelivered = True
        states[offset] = TAKEN
        self._cursor = offset + 1
        self.ready -= 1
        self.ready_bytes -= chunk.sizes[offset]
        return chunk.base + offset, redelivered

    def fresh_run(self) -> tuple[int, int]:
        """The first ready entry's sequence, and how many follow each other from it on that were
        never handed out, :data:`RUN_ENTRIES` at most. The count is 0 where :meth:`take` has to
        look for them."""
        chunk = self._head
        states = chunk.states
        offset = states.find(READY, self._cursor)
        if offset < 0 or chunk.returned:
            return 0, 0
        found = states[offset : offset + RUN_ENTRIES]
        return chunk.base + offset, len(found) - len(found.lstrip(_READY))

    def take_run(self, count: int) -> None:
        """Take the first ``count`` of what :meth:`fresh_run` has found."""
        chunk = self._head
        offset = chunk.states.find(READY, self._cursor)
        end = offset + count
        chunk.states[offset:end] = _TAKEN * count
        self._cursor = end
        self.ready -= count
        self.ready_bytes -= sum(chunk.sizes[offset:end])

    def take_at(self, sequence: int) -> None:
        """Take a ready entry wherever it stands. Settled, requeued or put back as one that
        :meth:`take` gave."""
        chunk, offset = self._find(sequence)
        state = chunk.states[offset]
        if state not in (READY, REDELIVERED):
            raise IllegalTransition(f"take of {sequence}, state {self.state_of(sequence)!r}")
        chunk.states[offset] = TAKEN
        chunk.returned -= state == REDELIVERED
        self.ready -= 1
        self.ready_bytes -= chunk.sizes[offset]

    def settle(self, sequence: int) -> None:
        """A taken entry is gone for good."""
        try:
            chunk = self._chunks[sequence >> CHUNK_BITS]
        except KeyError:
            raise IllegalTransition(f"settle of {sequence}, which is gone") from None
        offset = sequence - chunk.base
        states = chunk.states
        if offset < 0 or states[offset] != TAKEN:
            raise IllegalTransition(f"settle of {sequence}, state {self.state_of(sequence)!r}")
        states[offset] = GONE
        self.held_bytes -= chunk.sizes[offset]
        chunk.live -= 1
        if not chunk.live and (chunk is not self._last or len(states) >= RECYCLED_ENTRIES):
            self._drop(chunk)

    def settle_run(self, first: int, count: int) -> None:
        """:meth:`settle` ``count`` entries from ``first`` on."""
        while count:
            chunk, offset = self._find(first)
            end = min(offset + count, len(chunk.states))
            taken = end - offset
            if not taken or chunk.states.count(TAKEN, offset, end) != taken:
                raise IllegalTransition(f"settle of {count} from {first} on")
            chunk.states[offset:end] = _GONE * taken
            self.held_bytes -= column_sum(chunk.sizes[offset:end])
            chunk.live -= taken
            size = len(chunk.states)
            if not chunk.live and (chunk is not self._last or size >= RECYCLED_ENTRIES):
                self._drop(chunk)
            first += taken
            count -= taken

    def requeue(self, sequence: int) -> None:
        """A taken entry is ready again, at its old place, as redelivered."""
        self.put_back(sequence, True)

    def put_back(self, sequence: int, redelivered: bool) -> None:
        """A taken entry is ready again, at its old place. What was not handed out after all is
        ``redelivered`` only if it was so when it was taken."""
        chunk, offset = self._find(sequence)
        if chunk.states[offset] != TAKEN:
            raise IllegalTransition(f"requeue of {sequence}, state {self.state_of(sequence)!r}")
        if redelivered:
            chunk.states[offset] = REDELIVERED
            chunk.returned += 1
        else:
            chunk.states[offset] = READY
        self.ready += 1
        self.ready_bytes += chunk.sizes[offset]
        if chunk is self._head:
            self._cursor = min(self._cursor, offset)
        elif chunk.base < self._head.base:
            self._head = chunk
            self._cursor = offset

    # Many at once

    def ready_run(self, below: int) -> EntryRun | None:
        """The first ready entries that follow each other in one chunk, under ``below``; ``None``
        when there is none."""
        if not self.ready:
            return None
        chunk, offset = self._seek()
        run = chunk.ready_run(offset)
        return chunk.rows(range(run.start, min(run.stop, below - chunk.base)))

    def drop_ready(self, count: int) -> None:
        """The first ``count`` entries of :meth:`ready_run` are gone."""
        chunk, offset = self._seek()
        size = chunk.drop_ready(range(offset, offset + count))
        self._cursor = offset + count
        self.ready -= count
        self.ready_bytes -= size
        self.held_bytes -= size
        if not chunk.live:
            self._drop(chunk)

    def taken_run(self, below: int) -> EntryRun | None:
        """The first taken entries that follow each other in one chunk, under ``below``; ``None``
        when there is none. :meth:`settle_run` ends them."""
        for number in self._numbers:
            chunk = self._chunks[number]
            if run := chunk.taken_run(0):
                return chunk.rows(range(run.start, min(run.stop, below - chunk.base)))
        return None

    # Reading

    def entry(self, sequence: int) -> IndexEntry:
        """Position, sizes and expiry of an entry that is not gone."""
        chunk, offset = self._find(sequence)
        return IndexEntry(
            chunk.positions[offset],
            chunk.sizes[offset],
            chunk.stored[offset],
            chunk.expires_at(offset),
        )

    def ready_entry(self, sequence: int) -> tuple[int, int, int] | None:
        """Position, size and ``stored`` of an entry that is ready; ``None`` for one that is not.
        Asked for each message that is read back, so it is written out."""
        chunk = self._chunks.get(sequence >> CHUNK_BITS)
        if chunk is None:
            return None
        offset = sequence - chunk.base
        states = chunk.states
        if not 0 <= offset < len(states) or states[offset] > REDELIVERED:
            return None
        return chunk.positions[offset], chunk.sizes[offset], chunk.stored[offset]

    def state_of(self, sequence: int) -> EntryState:
        """The state of any sequence below the tail."""
        chunk = self._chunks.get(sequence >> CHUNK_BITS)
        if chunk is None or not 0 <= sequence - chunk.base < len(chunk.states):
            return EntryState.GONE
        return EntryState(chunk.states[sequence - chunk.base])

    def head_sequence(self) -> int | None:
        """The entry that :meth:`take` would give; ``None`` for none."""
        if not self.ready:
            return None
        chunk, offset = self._seek()
        return chunk.base + offset

    def head_expires_at(self) -> int | None:
        """The expiry of the entry that :meth:`take` would give: 0 for never, ``None`` for none."""
        if not self.ready:
            return None
        chunk, offset = self._seek()
        return chunk.expires_at(offset)

    def head_is_redelivered(self) -> bool:
        """True if the entry that :meth:`take` would give has come back. There must be one."""
        chunk, offset = self._seek()
        return chunk.states[offset] == REDELIVERED

    def expires_at(self, sequence: int) -> int:
        """The expiry of an entry that is not gone, 0 for never."""
        chunk, offset = self._find(sequence)
        return chunk.expires_at(offset)

    @property
    def has_expiries(self) -> bool:
        """An entry may have an expiry."""
        return any(chunk.expiries is not None for chunk in self._chunks.values())

    def ready_from(self, sequence: int) -> Iterator[tuple[int, int, int]]:
        """The ready entries from ``sequence`` on, in order: (sequence, position, size).

        Nothing may be changed while this is read.
        """
        for run in self.ready_runs(sequence):
            yield from zip(*run, strict=True)

    def ready_runs(self, sequence: int, longest: int = CHUNK_ENTRIES) -> Iterator[ReadyRun]:
        """The same, in pieces of up to ``longest`` consecutive sequences, which are copies."""
        if not self.ready:
            return
        chunk, offset = self._seek()
        if sequence > chunk.base + offset:
            place = bisect_left(self._numbers, sequence >> CHUNK_BITS)
            if place == len(self._numbers):
                return
            chunk = self._chunks[self._numbers[place]]
            offset = max(0, sequence - chunk.base)
        place = bisect_left(self._numbers, chunk.base >> CHUNK_BITS)
        while True:
            run = chunk.ready_run(offset)
            if run:
                offset = min(run.stop, run.start + longest)
                yield ReadyRun(
                    range(chunk.base + run.start, chunk.base + offset),
                    chunk.positions[run.start : offset],
                    chunk.sizes[run.start : offset],
                )
                continue
            place += 1
            if place == len(self._numbers):
                return
            chunk = self._chunks[self._numbers[place]]
            offset = 0

    def live_columns(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        """The entries that are not gone and whose log position lies in ``start`` to ``end`` (not
        included), in pieces that are copies; chunks that lie elsewhere cost next to nothing."""
        for number in list(self._numbers):
            chunk = self._chunks[number]
            if not chunk.lies_before(start) and not chunk.lies_behind(end):
                columns = chunk.live_columns(queue_id, start, end)
                if columns is not None:
                    yield columns

    # The message moves in the store

    def set_position(self, sequence: int, position: int) -> None:
        """An entry that the log doesn't have is kept elsewhere from now on (a page, or memory)."""
        chunk, offset = self._find(sequence)
        chunk.positions[offset] = position

    # Recovery

    def restore(
        self,
        sequence: int,
        position: int,
        size: int,
        stored: int,
        redelivered: bool = False,
        expires_at_ms: int = 0,
    ) -> None:
        """Recovery: add a ready entry at a known sequence, above every one that is here.

        Sequences rise, with gaps. The tail never falls below where this index was started.
        """
        before = self.tail
        self._grow_to(sequence)
        self.tail = sequence
        self._grow_at = -1
        self.append(position, size, stored, expires_at_ms)
        if redelivered:
            self._last.states[-1] = REDELIVERED
            self._last.returned += 1
        self.tail = self._grow_at = max(before, sequence + 1)

    def restore_columns(self, columns: EntryColumns) -> None:
        """Recovery: :meth:`restore` of many entries, which are ready or redelivered."""
        if columns.states.count(TAKEN) or columns.states.count(GONE):
            raise IllegalTransition("restore of entries that are not ready")
        sequences = columns.sequences
        before, count, start = self.tail, len(sequences), 0
        while start < count:
            first = sequences[start]
            self._grow_to(first)
            following = ((first >> CHUNK_BITS) + 1) << CHUNK_BITS
            if not start and sequences[-1] < following:
                self._last.extend(columns)  # Of thousands of queues each has a few in a segment.
                break
            end = bisect_left(sequences, following, start)
            self._last.extend(columns.part(start, end))
            start = end
        if not count:
            return
        size = sum(columns.sizes)
        self.ready += count
        self.ready_bytes += size
        self.held_bytes += size
        self.tail = self._grow_at = max(before, sequences[-1] + 1)

    def forget(self, sequence: int) -> tuple[int, int] | None:
        """Recovery, and damage: the entry is gone, whatever its state; its position and ``stored``,
        or ``None`` when it was gone already."""
        if self.state_of(sequence) is EntryState.GONE:
            return None
        chunk, offset = self._find(sequence)
        gone = chunk.positions[offset], chunk.stored[offset]
        self._make_gone(chunk, offset)
        return gone

    def forget_range(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Recovery: the entries from ``first`` to ``last`` (included) are gone; gives (sequence,
        position, stored) of those that were there. Read it to the end."""
        low = bisect_left(self._numbers, first >> CHUNK_BITS)
        high = bisect_right(self._numbers, last >> CHUNK_BITS)
        for number in self._numbers[low:high]:
            chunk = self._chunks[number]
            begin = max(0, first - chunk.base)
            end = min(len(chunk.states), last + 1 - chunk.base)
            for offset in range(begin, end):
                if chunk.states[offset] != GONE:
                    gone = chunk.base + offset, chunk.positions[offset], chunk.stored[offset]
                    self._make_gone(chunk, offset)
                    yield gone

    def mark_redelivered(self, sequence: int) -> None:
        """Recovery: a ready entry was handed out before. Nothing for one that is gone."""
        if self.state_of(sequence) is EntryState.READY:
            chunk, offset = self._find(sequence)
            chunk.states[offset] = REDELIVERED
            chunk.returned += 1

    def mark_redelivered_below(self, position: int) -> None:
        """Recovery: every ready entry whose log position is lower may have been handed out."""
        for chunk in self._chunks.values():
            if not chunk.lies_behind(position):
                chunk.mark_redelivered_below(position)

    def begin_at(self, sequence: int) -> None:
        """After recovery: what is appended from now on has sequences from ``sequence`` on, and
        above all that are here."""
        self.tail = self._grow_at = max(self.tail, sequence)

    # Chunks

    def _find(self, sequence: int) -> tuple[Chunk, int]:
        chunk = self._chunks.get(sequence >> CHUNK_BITS)
        if chunk is None or sequence < chunk.base:
            raise IllegalTransition(f"{sequence} is gone")
        return chunk, sequence - chunk.base

    def _seek(self) -> tuple[Chunk, int]:
        """Move the cursor to the first ready entry; there must be one."""
        chunk = self._head
        offset = chunk.first_ready(self._cursor)
        while offset < 0:
            number = self._numbers[bisect_right(self._numbers, chunk.base >> CHUNK_BITS)]
            chunk = self._chunks[number]
            offset = chunk.first_ready(0)
        self._head = chunk
        self._cursor = offset
        return chunk, offset

    def _make_gone(self, chunk: Chunk, offset: int) -> None:
        """Whatever its state was, which is not gone."""
        state, size = chunk.states[offset], chunk.sizes[offset]
        if state != TAKEN:
            self.ready -= 1
            self.ready_bytes -= size
            chunk.returned -= state == REDELIVERED
        chunk.states[offset] = GONE
        self.held_bytes -= size
        chunk.live -= 1
        if not chunk.live:
            self._drop(chunk)

    def _grow_to(self, sequence: int) -> None:
        """Recovery: have :attr:`_last` end just before ``sequence``."""
        end = self._last.base + len(self._last.states) if self._chunks else 0
        if sequence < end:
            raise IllegalTransition(f"restore of {sequence}, below {end}")
        self._grow(sequence)

    def _grow(self, sequence: int) -> None:
        """Make the newest chunk end just before ``sequence``, opening one where it is needed."""
        number = sequence >> CHUNK_BITS
        self._grow_at = (number + 1) << CHUNK_BITS
        if self._chunks:
            if self._last.base >> CHUNK_BITS == number:
                self._last.pad_to(sequence)
                return
            if not self._last.live:
                self._drop(self._last)
                self._grow_at = (number + 1) << CHUNK_BITS
        chunk = self._last = self._chunks[number] = Chunk(sequence)
        self._numbers.append(number)
        if len(self._numbers) == 1:
            self._head = chunk
            self._cursor = 0

    def _drop(self, chunk: Chunk) -> None:
        """Forget a chunk that has no live entry. The newest one is made anew when needed."""
        number = chunk.base >> CHUNK_BITS
        del self._chunks[number]
        place = bisect_left(self._numbers, number)
        del self._numbers[place]
        if chunk is self._last:
            self._grow_at = self.tail
        if chunk is self._head and self._numbers:
            # Nothing before the head is ready, so the head may move to either neighbour.
            self._head = self._chunks[self._numbers[min(place, len(self._numbers) - 1)]]
            self._cursor = 0
        if chunk is self._last and self._numbers:
            self._last = self._chunks[self._numbers[-1]]
