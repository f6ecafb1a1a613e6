"""QueueIndex against a list that does the same the plain way, and its chunks at their edges."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reference_broker.core.index.index import (
    CHUNK_ENTRIES,
    RECYCLED_ENTRIES,
    TRANSITIONS,
    EntryState,
    IllegalTransition,
    QueueIndex,
)
from reference_broker.core.journal.journal import EntryColumns


@dataclass
class Row:
    sequence: int
    size: int
    expires_at: int
    state: EntryState = EntryState.READY


def triple(row: Row) -> tuple[int, int, int]:
    """Sequence, position and stored bytes of an entry that goes; here the two first are one."""
    return row.sequence, row.sequence, row.size + 40


def unpacked(columns: EntryColumns) -> Iterator[tuple[int, ...]]:
    expiries = columns.expiries or [0] * len(columns.sequences)
    assert columns.queue_id == 9
    yield from zip(
        columns.sequences,
        columns.positions,
        columns.stored,
        columns.sizes,
        columns.states,
        expiries,
        strict=True,
    )


class IndexMachine(RuleBasedStateMachine):
    """Every rule does the same to the index and to a list of rows, and compares the answers."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []

    @initialize(start=st.sampled_from([0, 1, CHUNK_ENTRIES - 3, 7 << 32, (3 << 55) + 5]))
    def begin(self, start: int) -> None:
        self.index = QueueIndex(start)
        self.next = start

    def of(self, *states: EntryState) -> list[Row]:
        return [row for row in self.rows if row.state in states]

    def pick(self, place: int, *states: EntryState) -> Row | None:
        rows = self.of(*states)
        return rows[place % len(rows)] if rows else None

    @rule(size=st.integers(0, 9), expires_at=st.sampled_from([0, 0, 0, 5]), count=st.integers(1, 9))
    def append(self, size: int, expires_at: int, count: int) -> None:
        for _ in range(count):
            assert self.index.append(self.next, size, size + 40, expires_at) == self.next
            self.rows.append(Row(self.next, size, expires_at))
            self.next += 1

    @rule(sizes=st.lists(st.integers(0, 9), max_size=9), times=st.sampled_from([1, 1, 1, 500]))
    def append_run(self, sizes: list[int], times: int) -> None:
        sizes = sizes * times
        positions = array("q", range(self.next, self.next + len(sizes)))
        stored = array("I", [size + 40 for size in sizes])
        assert self.index.append_run(positions, array("I", sizes), stored) == self.next
        self.rows += [Row(self.next + place, size, 0) for place, size in enumerate(sizes)]
        self.next += len(sizes)

    @rule(count=st.sampled_from([RECYCLED_ENTRIES, CHUNK_ENTRIES - 1, CHUNK_ENTRIES + 1]))
    def append_many(self, count: int) -> None:
        self.append(1, 0, count)

    @rule(count=st.sampled_from([1, 1, 2, 5, RECYCLED_ENTRIES, CHUNK_ENTRIES]))
    def take(self, count: int) -> None:
        for row in [*self.of(EntryState.READY, EntryState.REDELIVERED)[:count], None]:
            if row is None:
                if not self.of(EntryState.READY, EntryState.REDELIVERED):
                    assert self.index.take() is None
                return
            assert self.index.take() == (row.sequence, row.state is EntryState.REDELIVERED)
            row.state = EntryState.TAKEN

    @rule(place=st.integers(0, 10_000), count=st.sampled_from([1, 3, CHUNK_ENTRIES]))
    def settle(self, place: int, count: int) -> None:
        for row in self.of(EntryState.TAKEN)[place % 7 :][:count]:
            self.index.settle(row.sequence)
            row.state = EntryState.GONE

    @rule(part=st.integers(0, 300))
    def take_run(self, part: int) -> None:
        """The head's run: only what was never handed out, and nothing where there are others."""
        first, count = self.index.fresh_run()
        if count:
            ready = self.of(EntryState.READY, EntryState.REDELIVERED)[:count]
            assert [row.sequence for row in ready] == list(range(first, first + count))
            assert all(row.state is EntryState.READY for row in ready)
            taken = ready[: part % (count + 1)]
            self.index.take_run(len(taken))
            for row in taken:
                row.state = EntryState.TAKEN

    @rule(place=st.integers(0, 10_000), count=st.sampled_from([2, 9, 2 * CHUNK_ENTRIES]))
    def settle_run(self, place: int, count: int) -> None:
        taken = self.of(EntryState.TAKEN)
        if taken:
            run = taken[place % len(taken) :][:count]
            run = [row for n, row in enumerate(run) if row.sequence == run[0].sequence + n]
            self.index.settle_run(run[0].sequence, len(run))
            for row in run:
                row.state = EntryState.GONE

    @rule(place=st.integers(0, 10_000))
    def settle_one(self, place: int) -> None:
        row = self.pick(place, EntryState.TAKEN)
        if row is not None:
            self.index.settle(row.sequence)
            row.state = EntryState.GONE

    @rule(place=st.integers(0, 10_000))
    def requeue(self, place: int) -> None:
        row = self.pick(place, EntryState.TAKEN)
        if row is not None:
            self.index.requeue(row.sequence)
            row.state = EntryState.REDELIVERED

    @rule()
    def put_back(self) -> None:
        """Put back the entry that was just taken, as dispatch does."""
        before = self.index.head_sequence()
        taken = self.index.take()
        if taken is not None:
            assert taken[0] == before
            self.index.put_back(*taken)

    @rule(place=st.integers(0, 20_000), part=st.sampled_from([1, 700, CHUNK_ENTRIES]))
    def drop_ready(self, place: int, part: int) -> None:
        """Those below a sequence, in runs; of each run a part at a time."""
        below = self.rows[place % len(self.rows)].sequence if self.rows else 0
        rows = self.of(EntryState.READY, EntryState.REDELIVERED)
        gone: list[tuple[int, int, int]] = []
        while (run := self.index.ready_run(below)) is not None:
            gone += list(zip(*run, strict=True))[:part]
            self.index.drop_ready(min(part, len(run.sequences)))
        assert gone == [triple(row) for row in rows if row.sequence < below]
        for row in rows[: len(gone)]:
            row.state = EntryState.GONE

    @rule(place=st.integers(0, 20_000))
    def settle_the_first_taken_run(self, place: int) -> None:
        below = self.rows[place % len(self.rows)].sequence if self.rows else 0
        taken = self.of(EntryState.TAKEN)
        run = self.index.taken_run(below)
        if run is None:
            assert not taken or taken[0].sequence >= below
            return
        count = len(run.sequences)
        assert list(zip(*run, strict=True)) == [triple(row) for row in taken[:count]]
        assert run.sequences.stop <= below
        self.index.settle_run(run.sequences.start, count)
        for row in taken[:count]:
            row.state = EntryState.GONE

    @rule(place=st.integers(0, 20_000), count=st.sampled_from([1, 5, CHUNK_ENTRIES]))
    def forget_range(self, place: int, count: int) -> None:
        if self.rows:
            rows = self.rows[place % len(self.rows) :][:count]
            live = [row for row in rows if row.state is not EntryState.GONE]
            got = list(self.index.forget_range(rows[0].sequence, rows[-1].sequence))
            assert got == [triple(row) for row in live]
            for row in live:
                row.state = EntryState.GONE

    @rule(place=st.integers(0, 20_000))
    def forget_one(self, place: int) -> None:
        if self.rows:
            row = self.rows[place % len(self.rows)]
            gone = row.state is EntryState.GONE
            assert self.index.forget(row.sequence) == (None if gone else triple(row)[1:])
            row.state = EntryState.GONE

    @rule(place=st.integers(0, 20_000))
    def mark_redelivered(self, place: int) -> None:
        if self.rows:
            row = self.rows[place % len(self.rows)]
            self.index.mark_redelivered(row.sequence)
            if row.state is EntryState.READY:
                row.state = EntryState.REDELIVERED

    @rule(place=st.integers(0, 20_000))
    def mark_redelivered_below(self, place: int) -> None:
        if self.rows:
            limit = self.rows[place % len(self.rows)].sequence
            self.index.mark_redelivered_below(limit)
            for row in self.of(EntryState.READY):
                if row.sequence < limit:
                    row.state = EntryState.REDELIVERED

    @rule(place=st.integers(0, 20_000), count=st.sampled_from([0, 3, 2 * CHUNK_ENTRIES]))
    def look_at_what_is_ready(self, place: int, count: int) -> None:
        start = self.rows[place % len(self.rows)].sequence if self.rows else 0
        ready = [
            r for r in self.of(EntryState.READY, EntryState.REDELIVERED) if r.sequence >= start
        ]
        got = list(islice(self.index.ready_from(start), count))
        assert got == [(row.sequence, row.sequence, row.size) for row in ready[:count]]
        longest = max(1, count)
        runs = list(self.index.ready_runs(start, longest))
        assert all(1 <= len(run.sequences) <= longest for run in runs)
        assert [each for run in runs for each in run.sequences] == [row.sequence for row in ready]

    @rule(place=st.integers(0, 20_000), count=st.sampled_from([1, 5, CHUNK_ENTRIES]))
    def columns_say_what_is_alive_and_build_it_again(self, place: int, count: int) -> None:
        start = self.rows[place % len(self.rows)].sequence if self.rows else 0
        live = [r for r in self.rows if r.state is not EntryState.GONE]
        for low, high in ((start, start + count), (0, 1 << 62)):
            pieces = list(self.index.live_columns(9, low, high))
            got = [row for piece in pieces for row in unpacked(piece)]
            assert got == [
                (row.sequence, *triple(row)[1:], row.size, row.state, row.expires_at)
                for row in live
                if low <= row.sequence < high
            ]
        again = QueueIndex()
        for piece in pieces:
            again.restore_columns(piece._replace(states=bytes(len(piece.states))))
        assert again.held_bytes == again.ready_bytes == self.index.held_bytes
        assert [each[0] for each in again.ready_from(0)] == [row.sequence for row in live]
        for row in live:
            assert again.entry(row.sequence) == self.index.entry(row.sequence)

    @rule(place=st.integers(0, 10_000))
    def refuse_what_is_illegal(self, place: int) -> None:
        row = self.pick(place, EntryState.READY, EntryState.REDELIVERED, EntryState.GONE)
        for change in (self.index.settle, self.index.requeue):
            if row is not None:
                with pytest.raises(IllegalTransition):
                    change(row.sequence)

    @invariant()
    def same_counts_and_head(self) -> None:
        ready = self.of(EntryState.READY, EntryState.REDELIVERED)
        taken = self.of(EntryState.TAKEN)
        assert self.index.ready == len(ready)
        assert self.index.ready_bytes == sum(row.size for row in ready)
        assert self.index.held_bytes == sum(row.size for row in ready + taken)
        assert len(self.index) == len(ready) + len(taken)
        assert self.index.tail == self.next
        assert self.index.head_expires_at() == (ready[0].expires_at if ready else None)

    def teardown(self) -> None:
        for row in self.rows:
            assert self.index.state_of(row.sequence) is row.state
            if row.state is not EntryState.GONE:
                assert self.index.expires_at(row.sequence) == row.expires_at
                entry = (row.sequence, row.size, row.size + 40, row.expires_at)
                assert self.index.entry(row.sequence) == entry


TestIndexMachine = pytest.mark.slow(IndexMachine.TestCase)
TestIndexMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_ten_thousand_entries_settled_backwards_leave_nothing() -> None:
    index = QueueIndex()
    for number in range(10_000):
        index.append(number, 2, 0)
    taken = [index.take() for _ in range(10_000)]
    assert taken == [(number, False) for number in range(10_000)]
    for number in reversed(range(10_000)):
        index.settle(number)
    assert len(index) == index.held_bytes == 0
    assert index.append(0, 1, 0) == 10_000
    assert index.take() == (10_000, False)


def test_a_requeue_far_behind_the_head_comes_first_and_then_the_rest() -> None:
    index = QueueIndex()
    for number in range(3 * CHUNK_ENTRIES):
        index.append(number, 1, 0)
    for _ in range(2 * CHUNK_ENTRIES + 10):
        index.take()
    index.requeue(5)
    index.requeue(CHUNK_ENTRIES + 1)
    assert index.take() == (5, True)
    assert index.take() == (CHUNK_ENTRIES + 1, True)
    assert index.take() == (2 * CHUNK_ENTRIES + 10, False)


def test_a_queue_that_is_drained_as_it_fills_holds_one_small_chunk() -> None:
    index = QueueIndex()
    for _ in range(10 * CHUNK_ENTRIES):
        sequence = index.append(1, 1, 0)
        index.take()
        index.settle(sequence)
        assert sum(len(c.states) for c in index._chunks.values()) <= RECYCLED_ENTRIES


@pytest.mark.parametrize("last", [1, 10])
def test_a_newest_chunk_goes_with_its_last_entries_wherever_they_stand(last: int) -> None:
    index = QueueIndex()
    for _ in range(RECYCLED_ENTRIES + 50):
        index.append(1, 1, 0)
        index.take()
    index.settle_run(last, RECYCLED_ENTRIES + 50 - last)
    assert index._chunks
    index.settle_run(0, last)
    assert not index._chunks


def test_a_short_newest_chunk_with_nothing_in_it_goes_when_the_next_begins() -> None:
    index = QueueIndex(CHUNK_ENTRIES - 3)
    for _ in range(4):
        sequence = index.append(1, 1, 0)
        index.take()
        index.settle(sequence)
    assert len(index._chunks) == 1
    assert index.append(1, 1, 0) == CHUNK_ENTRIES + 1
    assert index.take() == (CHUNK_ENTRIES + 1, False)


def test_chunks_that_are_gone_are_dropped_although_an_old_entry_stays() -> None:
    index = QueueIndex()
    for number in range(5 * CHUNK_ENTRIES):
        index.append(number, 1, 0)
        index.take()
    for number in range(1, 5 * CHUNK_ENTRIES):
        index.settle(number)
    assert len(index._chunks) == 1
    index.requeue(0)
    assert index.take() == (0, True)
    index.append(1, 1, 0)
    assert index.take() == (5 * CHUNK_ENTRIES, False)


def test_the_expiry_column_appears_with_the_first_expiry() -> None:
    index = QueueIndex()
    index.append(0, 1, 0)
    assert index._last.expiries is None
    index.append(0, 1, 0, 77)
    index.append(0, 1, 0)
    assert [index.expires_at(sequence) for sequence in range(3)] == [0, 77, 0]


@pytest.mark.parametrize("start", [0, 1 << 32])
def test_restore_keeps_sequences_and_gaps(start: int) -> None:
    index = QueueIndex(start)
    places = [3, 4, 9, CHUNK_ENTRIES - 1, CHUNK_ENTRIES, 5 * CHUNK_ENTRIES + 7]
    for place in places:
        index.restore(place, 10 + place, 1, 0, place == 9, 50 if place == 4 else 0)
    assert index.ready == len(index) == len(places)
    assert index.expires_at(4) == 50
    assert index.tail == max(start, places[-1] + 1)
    with pytest.raises(IllegalTransition):
        index.restore(8, 0, 1, 0)
    new = index.append(0, 1, 0)
    assert new == max(start, places[-1] + 1)
    assert [index.take() for _ in range(8)] == [
        *((place, place == 9) for place in places),
        (new, False),
        None,
    ]
    for place in [*places, new]:
        index.settle(place)
    assert len(index) == 0


def test_the_table_of_transitions_is_complete_and_the_index_holds_to_it() -> None:
    assert set(TRANSITIONS) == set(EntryState)
    for state, change in product(
        EntryState, ("settle", "requeue", "put_back", "take", "drop_ready", "forget")
    ):
        index = QueueIndex()
        index.append(0, 1, 0)
        if state is not EntryState.READY:
            index.take()
        if state is EntryState.REDELIVERED:
            index.requeue(0)
        if state is EntryState.GONE:
            index.settle(0)
        try:
            if change == "take":
                index.take()
            elif change == "drop_ready":
                if index.ready:
                    index.drop_ready(1)
            elif change == "put_back":
                index.put_back(0, False)
            else:
                getattr(index, change)(0)
        except IllegalTransition:
            assert index.state_of(0) is state
        after = index.state_of(0)
        assert after is state or after in TRANSITIONS[state]


def columns_of(sequences: list[int], expiries: list[int] | None = None) -> EntryColumns:
    count = len(sequences)
    return EntryColumns(
        1,
        array("Q", sequences),
        array("q", (10 * sequence for sequence in sequences)),
        array("I", (3,) * count),
        array("I", (50,) * count),
        bytes(sequence % 2 for sequence in sequences),
        None if expiries is None else array("q", expiries),
    )


def test_restored_columns_go_on_where_others_ended_and_the_new_run_above_them() -> None:
    index = QueueIndex()
    index.restore_columns(columns_of([3, 4, 5]))
    index.restore(7, 70, 3, 50)
    index.restore_columns(columns_of([9, 12, CHUNK_ENTRIES - 1, CHUNK_ENTRIES, CHUNK_ENTRIES + 1]))
    index.restore_columns(columns_of([CHUNK_ENTRIES + 5], [99]))
    index.restore_columns(columns_of([CHUNK_ENTRIES + 6, CHUNK_ENTRIES + 9]))
    index.restore_columns(columns_of([]))
    assert index.tail == CHUNK_ENTRIES + 10
    index.begin_at(1 << 32)
    assert index.append(1 << 50, 1, 1) == 1 << 32
    places = [3, 4, 5, 7, 9, 12, *(CHUNK_ENTRIES + n for n in (-1, 0, 1, 5, 6, 9))]
    taken = [index.take() for _ in range(13)]
    assert taken == [*((n, n % 2 == 1 and n != 7) for n in places), (1 << 32, False)]
    assert index.entry(12) == (120, 3, 50, 0)
    assert [index.expires_at(CHUNK_ENTRIES + n) for n in (1, 5, 6, 9)] == [0, 99, 0, 0]
    assert index.has_expiries
    assert index.held_bytes == 3 * 12 + 1


@pytest.mark.parametrize("state", [EntryState.TAKEN, EntryState.GONE])
def test_only_ready_entries_are_restored_and_only_above_those_that_are_here(
    state: EntryState,
) -> None:
    index = QueueIndex()
    with pytest.raises(IllegalTransition):
        index.restore_columns(columns_of([3])._replace(states=bytes((state,))))
    index.restore_columns(columns_of([3]))
    with pytest.raises(IllegalTransition):
        index.restore_columns(columns_of([3]))


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("expiring", [False, True])
@pytest.mark.parametrize("gone", [(), (0, 3, 700, 998)])
def test_columns_of_any_part_of_a_long_chunk(
    paged: bool, expiring: bool, gone: tuple[int, ...]
) -> None:
    index, entries = QueueIndex(), 1000
    for sequence in range(entries):
        index.append(10 * sequence, 1, 5, sequence + 7 if expiring else 0)
    if paged:
        index.set_position(500, -3)
    for sequence in gone:
        index.forget(sequence)
    left = [n for n in range(entries) if n not in gone and not (paged and n == 500)]
    parts = (
        (0, 9995),
        (9980, 9991),
        (9360, 99_999),
        (9355, 9975),
        (4000, 8000),
        (0, 1),
        (9991, 11_000),
    )
    for start, end in parts:
        expected = [n for n in left if start <= 10 * n < end]
        pieces = list(index.live_columns(1, start, end))
        assert [n for piece in pieces for n in piece.sequences] == expected
        assert [n // 10 for piece in pieces for n in piece.positions] == expected
        if expiring:
            expiries = [at - 7 for piece in pieces for at in piece.expiries or ()]
            assert expiries == expected


def test_what_the_log_does_not_have_is_in_no_columns() -> None:
    index = QueueIndex()
    for position in (-1, 10, -7, -1, 11, 12):
        index.append(position, 1, 5)
    index.set_position(3, -9)
    assert [list(piece.sequences) for piece in index.live_columns(1, 0, 99)] == [[1, 4, 5]]
    assert [list(piece.sequences) for piece in index.live_columns(1, 11, 12)] == [[4]]
    assert list(index.live_columns(1, 13, 99)) == list(index.live_columns(1, 0, 10)) == []
    assert index.entry(3).position == -9
    index.mark_redelivered_below(12)
    assert [index.state_of(n) for n in (1, 4, 5)] == [1, 1, 0]
    only_memory = QueueIndex()
    only_memory.append(-1, 1, 0)
    assert list(only_memory.live_columns(1, 0, 99)) == []


def test_one_is_taken_wherever_it_stands() -> None:
    index = QueueIndex()
    for number in range(5):
        index.append(number, 10, 0)
    index.take_at(3)
    assert (index.ready, index.ready_bytes, index.held_bytes) == (4, 40, 50)
    assert [index.take() for _ in range(5)] == [
        (0, False),
        (1, False),
        (2, False),
        (4, False),
        None,
    ]
    index.requeue(3)
    index.take_at(3)
    assert index.take() is None
    index.settle(3)
    for sequence in (3, 4):
        with pytest.raises(IllegalTransition):
            index.take_at(sequence)
