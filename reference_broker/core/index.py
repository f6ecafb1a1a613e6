"""Where a queue's messages are: no Python object per ready message, and no other home for a state.

The law: a message's state is the byte that the index has for its sequence, it changes only as
:data:`TRANSITIONS` says, and everything else (counts, cursor) follows from it.

An index is chunks of consecutive sequences, each chunk a few parallel columns::

    sequence   base   base+1  base+2  ...      up to CHUNK_ENTRIES, aligned: sequence >> CHUNK_BITS
    states     |  3  |   2   |   0   |         bytearray: READY, REDELIVERED, TAKEN, GONE
    positions  |  q  |   q   |   q   |         where the log has the message, -1 for "not there"
    sizes      |  I  |   I   |   I   |         bytes of the body
    expiries   |  q  |   q   |   q   |         wall ms, 0 for never; only once an entry needs it

The next ready entry is a ``bytearray.find`` from the head cursor. Every ready entry is at or after
the cursor: a requeue sets its byte and moves the cursor back, which is the original order. A chunk
whose entries are all gone is dropped.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from enum import IntEnum

CHUNK_BITS = 12
CHUNK_ENTRIES = 1 << CHUNK_BITS
"""Entries of a full chunk. A find in 4,096 bytes takes about as long as one Python call, and a
chunk that one unacked message keeps alive costs 53 KB at most."""

RECYCLED_ENTRIES = 256
"""A newest chunk with nothing live in it is dropped from this many entries on, so that a thousand
queues that are drained as they fill don't hold a full chunk each."""


class EntryState(IntEnum):
    """The state byte of an entry."""

    READY = 0
    REDELIVERED = 1
    """Ready again after it was handed out."""
    TAKEN = 2
    """Handed out; a lease speaks for it."""
    GONE = 3
    """Acked, dead-lettered, expired, dropped or purged."""


TRANSITIONS: dict[EntryState, tuple[EntryState, ...]] = {
    EntryState.READY: (EntryState.TAKEN, EntryState.GONE),
    EntryState.REDELIVERED: (EntryState.TAKEN, EntryState.GONE),
    EntryState.TAKEN: (EntryState.REDELIVERED, EntryState.GONE),
    EntryState.GONE: (),
}
"""Complete: what is not here raises :exc:`IllegalTransition`, and nothing changes."""

# Plain ints: an enum member costs an attribute look-up in every message's path.
_READY, _REDELIVERED, _TAKEN, _GONE = (int(state) for state in EntryState)


class IllegalTransition(AssertionError):
    """The broker's own mistake: an entry was asked for a change that its state doesn't allow."""


class _Chunk:
    """Consecutive entries, the first of which has sequence ``base``."""

    __slots__ = ("base", "expiries", "live", "positions", "returned", "sizes", "states")

    def __init__(self, base: int) -> None:
        self.base = base
        self.states = bytearray()
        self.positions = array("q")
        self.sizes = array("I")
        self.expiries: array[int] | None = None
        self.live = 0
        """Entries that are not gone."""
        self.returned = 0
        """Entries in state REDELIVERED: only then a search must look for two bytes."""

    def first_ready(self, start: int) -> int:
        """Offset of the first ready entry from ``start`` on, or -1."""
        fresh = self.states.find(_READY, start)
        if not self.returned:
            return fresh
        returned = self.states.find(_REDELIVERED, start)
        if fresh < 0 or returned < 0:
            return max(fresh, returned)
        return min(fresh, returned)

    def expires_at(self, offset: int) -> int:
        return 0 if self.expiries is None else self.expiries[offset]

    def append_expiry(self, expires_at_ms: int) -> None:
        """Make the column where it isn't there yet; the state was appended already."""
        if self.expiries is None:
            self.expiries = array("q", bytes(8 * (len(self.states) - 1)))
        self.expiries.append(expires_at_ms)

    def pad_to(self, sequence: int) -> None:
        """Fill with gone entries up to ``sequence``: recovery leaves gaps."""
        missing = sequence - self.base - len(self.states)
        self.states.extend(bytes((_GONE,)) * missing)
        self.positions.frombytes(bytes(self.positions.itemsize * missing))
        self.sizes.frombytes(bytes(self.sizes.itemsize * missing))
        if self.expiries is not None:
            self.expiries.frombytes(bytes(self.expiries.itemsize * missing))


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
        self._chunks: dict[int, _Chunk] = {}
        self._numbers: list[int] = []
        self._head = self._last = _Chunk(start)  # stands in until the first entry
        self._cursor = 0
        self._grow_at = start

    def __len__(self) -> int:
        """Entries that are not gone."""
        return sum(chunk.live for chunk in self._chunks.values())

    def append(self, position: int, size: int, expires_at_ms: int = 0) -> int:
        """Add a ready entry at the tail; returns its sequence."""
        sequence = self.tail
        if sequence == self._grow_at:
            self._grow(sequence)
        chunk = self._last
        chunk.states.append(_READY)
        chunk.positions.append(position)
        chunk.sizes.append(size)
        if expires_at_ms or chunk.expiries is not None:
            chunk.append_expiry(expires_at_ms)
        chunk.live += 1
        self.ready += 1
        self.ready_bytes += size
        self.held_bytes += size
        self.tail = sequence + 1
        return sequence

    def take(self) -> tuple[int, bool] | None:
        """Take the first ready entry: its sequence, and whether it was handed out before.

        ``None`` when nothing is ready. The caller settles it, or requeues it.
        """
        chunk = self._head
        states = chunk.states
        offset = states.find(_READY, self._cursor)
        redelivered = False
        if offset < 0 or chunk.returned:
            if not self.ready:
                return None
            chunk, offset = self._seek()
            states = chunk.states
            if states[offset] == _REDELIVERED:
                chunk.returned -= 1
                redelivered = True
        states[offset] = _TAKEN
        self._cursor = offset + 1
        self.ready -= 1
        self.ready_bytes -= chunk.sizes[offset]
        return chunk.base + offset, redelivered

    def settle(self, sequence: int) -> None:
        """A taken entry is gone for good."""
        try:
            chunk = self._chunks[sequence >> CHUNK_BITS]
        except KeyError:
            raise IllegalTransition(f"settle of {sequence}, which is gone") from None
        offset = sequence - chunk.base
        states = chunk.states
        if offset < 0 or states[offset] != _TAKEN:
            raise IllegalTransition(f"settle of {sequence}, state {self.state_of(sequence)!r}")
        states[offset] = _GONE
        self.held_bytes -= chunk.sizes[offset]
        chunk.live -= 1
        if not chunk.live and (chunk is not self._last or len(states) >= RECYCLED_ENTRIES):
            self._drop(chunk)

    def requeue(self, sequence: int) -> None:
        """A taken entry is ready again, at its old place, as redelivered."""
        chunk, offset = self._find(sequence)
        if chunk.states[offset] != _TAKEN:
            raise IllegalTransition(f"requeue of {sequence}, state {self.state_of(sequence)!r}")
        chunk.states[offset] = _REDELIVERED
        chunk.returned += 1
        self.ready += 1
        self.ready_bytes += chunk.sizes[offset]
        if chunk is self._head:
            self._cursor = min(self._cursor, offset)
        elif chunk.base < self._head.base:
            self._head = chunk
            self._cursor = offset

    def head_expires_at(self) -> int | None:
        """The expiry of the entry that :meth:`take` would give: 0 for never, ``None`` for none."""
        if not self.ready:
            return None
        chunk, offset = self._seek()
        return chunk.expires_at(offset)

    def expires_at(self, sequence: int) -> int:
        """The expiry of an entry that is not gone, 0 for never."""
        chunk, offset = self._find(sequence)
        return chunk.expires_at(offset)

    def state_of(self, sequence: int) -> EntryState:
        """The state of any sequence below the tail."""
        chunk = self._chunks.get(sequence >> CHUNK_BITS)
        if chunk is None or sequence < chunk.base:
            return EntryState.GONE
        return EntryState(chunk.states[sequence - chunk.base])

    def purge(self) -> Iterator[tuple[int, int]]:
        """Make every ready entry gone; gives (sequence, position) of each, in order.

        Read it to the end: an entry is gone when it was given.
        """
        while self.ready:
            chunk, offset = self._seek()
            if chunk.states[offset] == _REDELIVERED:
                chunk.returned -= 1
            chunk.states[offset] = _GONE
            self._cursor = offset + 1
            self.ready -= 1
            self.ready_bytes -= chunk.sizes[offset]
            self.held_bytes -= chunk.sizes[offset]
            chunk.live -= 1
            if not chunk.live:
                self._drop(chunk)
            yield chunk.base + offset, chunk.positions[offset]

    def restore(
        self,
        sequence: int,
        position: int,
        size: int,
        redelivered: bool = False,
        expires_at_ms: int = 0,
    ) -> None:
        """Recovery: add a ready entry at a known sequence, above every one that is here.

        Sequences rise, with gaps. The tail never falls below where this index was started.
        """
        end = self._last.base + len(self._last.states) if self._chunks else 0
        if sequence < end:
            raise IllegalTransition(f"restore of {sequence}, below {end}")
        before = self.tail
        self._grow(sequence)
        self.tail = sequence
        self._grow_at = -1
        self.append(position, size, expires_at_ms)
        if redelivered:
            self._last.states[-1] = _REDELIVERED
            self._last.returned += 1
        self.tail = self._grow_at = max(before, sequence + 1)

    def _find(self, sequence: int) -> tuple[_Chunk, int]:
        chunk = self._chunks.get(sequence >> CHUNK_BITS)
        if chunk is None or sequence < chunk.base:
            raise IllegalTransition(f"{sequence} is gone")
        return chunk, sequence - chunk.base

    def _seek(self) -> tuple[_Chunk, int]:
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
        chunk = self._last = self._chunks[number] = _Chunk(sequence)
        self._numbers.append(number)
        if len(self._numbers) == 1:
            self._head = chunk
            self._cursor = 0

    def _drop(self, chunk: _Chunk) -> None:
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
