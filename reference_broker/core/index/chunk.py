"""A piece of a queue's index: consecutive entries as parallel columns.

:mod:`index` keeps the counts over all of them, and is the only one to change a state.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import compress, islice

from reference_broker.core.index.column_sum import column_sum
from reference_broker.core.index.entry_rows import EntryRun
from reference_broker.core.index.entry_state import EntryState, IllegalTransition
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.core.message.content import NOT_STORED

# Plain ints: an enum member costs an attribute look-up in every message's path.
READY, REDELIVERED, TAKEN, GONE = (int(state) for state in EntryState)

_READY_STATES = bytes((READY, REDELIVERED))
_TAKEN_STATE, _GONE_STATE = bytes((TAKEN,)), bytes((GONE,))

ROW_BYTES = 18
"""Accounted for each entry: 17 in its columns, and what growing arrays hold in reserve."""

EXPIRING_ROW_BYTES = 26
"""Accounted where there is a column of expiries."""

_TAIL_ENTRIES = 64
"""At the end of a chunk, that are looked at first."""

_IS_LIVE = bytes(state != GONE for state in range(256))
"""A translation of states: 1 for what is not gone."""


class Chunk:
    """Consecutive entries, the first of which has sequence ``base``."""

    __slots__ = ("base", "expiries", "live", "positions", "returned", "sizes", "states", "stored")

    def __init__(self, base: int) -> None:
        self.base = base
        self.states = bytearray()
        self.positions = array("q")
        self.sizes = array("I")
        self.stored = array("I")
        self.expiries: array[int] | None = None
        self.live = 0
        """Entries that are not gone."""
        self.returned = 0
        """Entries in state REDELIVERED: only then a search must look for two bytes."""

    @property
    def column_bytes(self) -> int:
        """Accounted bytes of the columns."""
        return len(self.states) * (ROW_BYTES if self.expiries is None else EXPIRING_ROW_BYTES)

    def append_ready(self, positions: array[int], sizes: array[int], stored: array[int]) -> None:
        """Append ready entries without an expiry, for which there is room."""
        count = len(sizes)
        self.states += bytes((READY,)) * count
        self.positions += positions
        self.sizes += sizes
        self.stored += stored
        if self.expiries is not None:
            self.expiries.frombytes(bytes(self.expiries.itemsize * count))
        self.live += count

    def first_ready(self, start: int) -> int:
        """Offset of the first ready entry from ``start`` on, or -1."""
        fresh = self.states.find(READY, start)
        if not self.returned:
            return fresh
        returned = self.states.find(REDELIVERED, start)
        if fresh < 0 or returned < 0:
            return max(fresh, returned)
        return min(fresh, returned)

    def ready_run(self, start: int) -> range:
        """Offsets of the first ready entries from ``start`` on that follow each other."""
        first = self.first_ready(start)
        if first < 0:
            return range(0)
        behind = self.states[first:].lstrip(_READY_STATES)
        return range(first, len(self.states) - len(behind))

    def taken_run(self, start: int) -> range:
        """Offsets of the first taken entries from ``start`` on that follow each other."""
        first = self.states.find(TAKEN, start)
        if first < 0:
            return range(0)
        behind = self.states[first:].lstrip(_TAKEN_STATE)
        return range(first, len(self.states) - len(behind))

    def rows(self, offsets: range) -> EntryRun | None:
        """The entries at these consecutive offsets; ``None`` where there are none."""
        if not offsets:
            return None
        place = slice(offsets.start, offsets.stop)
        return EntryRun(
            range(self.base + offsets.start, self.base + offsets.stop),
            self.positions[place],
            self.stored[place],
        )

    def drop_ready(self, offsets: range) -> int:
        """The entries at these consecutive offsets, which are ready, are gone; returns the bytes of
        their bodies. Raises :exc:`IllegalTransition`, and nothing changes, for any that is not."""
        start, end = offsets.start, offsets.stop
        returned = self.states.count(REDELIVERED, start, end) if self.returned else 0
        if self.states.count(READY, start, end) + returned != len(offsets):
            raise IllegalTransition(f"drop of {self.base + start} to {self.base + end - 1}")
        self.states[start:end] = _GONE_STATE * len(offsets)
        self.returned -= returned
        self.live -= len(offsets)
        return column_sum(self.sizes[start:end])

    def expires_at(self, offset: int) -> int:
        return 0 if self.expiries is None else self.expiries[offset]

    def with_expiries(self) -> array[int]:
        """The column, made where it isn't there yet."""
        if self.expiries is None:
            self.expiries = array("q", bytes(8 * len(self.positions)))
        return self.expiries

    def pad_to(self, sequence: int) -> None:
        """Fill with gone entries up to ``sequence``: recovery leaves gaps."""
        missing = sequence - self.base - len(self.states)
        if not missing:
            return
        self.states.extend(bytes((GONE,)) * missing)
        self.positions.extend(array("q", (NOT_STORED,)) * missing)
        self.sizes.frombytes(bytes(self.sizes.itemsize * missing))
        self.stored.frombytes(bytes(self.stored.itemsize * missing))
        if self.expiries is not None:
            self.expiries.frombytes(bytes(self.expiries.itemsize * missing))

    def lies_before(self, position: int) -> bool:
        """No entry has a log position of ``position`` or above."""
        last = self.positions[-1]
        return (last if last >= 0 else max(self.positions)) < position

    def lies_behind(self, position: int) -> bool:
        """No entry has a log position below ``position``."""
        first = self.positions[0]
        if first < 0:
            first = next((each for each in self.positions if each >= 0), position)
        return first >= position

    def live_columns(self, queue_id: int, start: int, end: int) -> EntryColumns | None:
        """See :meth:`QueueIndex.live_columns`; ``None`` when there is no such entry."""
        first = self._first_from(start)
        held = self.positions[first:]
        states = self.states[first:]
        sequences = range(self.base + first, self.base + len(self.states))
        expiries = None if self.expiries is None else self.expiries[first:]
        if self.live == len(self.states) and start <= min(held) <= held[-1] < end:
            return EntryColumns(
                queue_id,
                sequences,
                held,
                self.sizes[first:],
                self.stored[first:],
                bytes(states),
                expiries,
            )
        wanted = states.translate(_IS_LIVE)
        if min(held) < 0:
            places = zip(wanted, held, strict=True)
            wanted = bytearray(live and position >= 0 for live, position in places)
        positions = array("q", compress(held, wanted))
        low, high = bisect_left(positions, start), bisect_left(positions, end)
        if low == high:
            return None
        if expiries is not None:
            expiries = array("q", islice(compress(expiries, wanted), low, high))
        return EntryColumns(
            queue_id,
            array("Q", islice(compress(sequences, wanted), low, high)),
            positions[low:high],
            array("I", islice(compress(self.sizes[first:], wanted), low, high)),
            array("I", islice(compress(self.stored[first:], wanted), low, high)),
            bytes(islice(compress(states, wanted), low, high)),
            expiries if expiries is not None and any(expiries) else None,
        )

    def _first_from(self, start: int) -> int:
        """Every entry with a log position of ``start`` or above is at this offset or behind it.

        Mostly it is the end that is asked for, by the segment in use, once for each queue: the rest
        of a long chunk must not be walked through every time."""
        count, size = len(self.positions), _TAIL_ENTRIES
        while size < count:
            tail = self.positions[-size:]
            if min(tail) < 0:
                return 0  # Entries that the log doesn't have: in no order with the others.
            if tail[0] < start:
                return count - size + bisect_left(tail, start)
            size *= 4
        return 0

    def extend(self, columns: EntryColumns) -> None:
        """Append entries. The first is next here, and all of them belong here."""
        sequences, expiries = columns.sequences, columns.expiries
        base, count, place = sequences[0], len(sequences), len(self.states)
        if expiries is not None:
            self.with_expiries()
        if sequences[-1] - base == count - 1:
            self.states += columns.states
            self.positions += columns.positions
            self.sizes += columns.sizes
            self.stored += columns.stored
            if self.expiries is not None:
                self.expiries += expiries or array("q", bytes(8 * count))
        else:
            self.pad_to(sequences[-1] + 1)
            for row, sequence in enumerate(sequences):
                offset = place + sequence - base
                self.states[offset] = columns.states[row]
                self.positions[offset] = columns.positions[row]
                self.sizes[offset] = columns.sizes[row]
                self.stored[offset] = columns.stored[row]
                if expiries is not None and self.expiries is not None:
                    self.expiries[offset] = expiries[row]
        self.live += count
        self.returned += columns.states.count(REDELIVERED)

    def mark_redelivered_below(self, position: int) -> None:
        """See :meth:`QueueIndex.mark_redelivered_below`."""
        if self.lies_before(position):
            self.states = self.states.replace(bytes((READY,)), bytes((REDELIVERED,)))
        else:
            for offset, where in enumerate(self.positions):
                if self.states[offset] == READY and 0 <= where < position:
                    self.states[offset] = REDELIVERED
        self.returned = self.states.count(REDELIVERED)
