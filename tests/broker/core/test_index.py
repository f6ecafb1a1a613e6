"""QueueIndex against a list that does the same the plain way, and its chunks at their edges."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reference_broker.core.index import (
    CHUNK_ENTRIES,
    RECYCLED_ENTRIES,
    TRANSITIONS,
    EntryState,
    IllegalTransition,
    QueueIndex,
)


@dataclass
class Row:
    sequence: int
    size: int
    expires_at: int
    state: EntryState = EntryState.READY


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
            assert self.index.append(self.next, size, expires_at) == self.next
            self.rows.append(Row(self.next, size, expires_at))
            self.next += 1

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
    def purge(self) -> None:
        rows = self.of(EntryState.READY, EntryState.REDELIVERED)
        assert list(self.index.purge()) == [(row.sequence, row.sequence) for row in rows]
        for row in rows:
            row.state = EntryState.GONE

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


TestIndexMachine = pytest.mark.slow(IndexMachine.TestCase)
TestIndexMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_ten_thousand_entries_settled_backwards_leave_nothing() -> None:
    index = QueueIndex()
    for number in range(10_000):
        index.append(number, 2)
    taken = [index.take() for _ in range(10_000)]
    assert taken == [(number, False) for number in range(10_000)]
    for number in reversed(range(10_000)):
        index.settle(number)
    assert len(index) == index.held_bytes == 0
    assert index.append(0, 1) == 10_000
    assert index.take() == (10_000, False)


def test_a_requeue_far_behind_the_head_comes_first_and_then_the_rest() -> None:
    index = QueueIndex()
    for number in range(3 * CHUNK_ENTRIES):
        index.append(number, 1)
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
        sequence = index.append(1, 1)
        index.take()
        index.settle(sequence)
        assert sum(len(c.states) for c in index._chunks.values()) <= RECYCLED_ENTRIES


def test_a_short_newest_chunk_with_nothing_in_it_goes_when_the_next_begins() -> None:
    index = QueueIndex(CHUNK_ENTRIES - 3)
    for _ in range(4):
        sequence = index.append(1, 1)
        index.take()
        index.settle(sequence)
    assert len(index._chunks) == 1
    assert index.append(1, 1) == CHUNK_ENTRIES + 1
    assert index.take() == (CHUNK_ENTRIES + 1, False)


def test_chunks_that_are_gone_are_dropped_although_an_old_entry_stays() -> None:
    index = QueueIndex()
    for number in range(5 * CHUNK_ENTRIES):
        index.append(number, 1)
        index.take()
    for number in range(1, 5 * CHUNK_ENTRIES):
        index.settle(number)
    assert len(index._chunks) == 1
    index.requeue(0)
    assert index.take() == (0, True)
    index.append(1, 1)
    assert index.take() == (5 * CHUNK_ENTRIES, False)


def test_the_expiry_column_appears_with_the_first_expiry() -> None:
    index = QueueIndex()
    index.append(0, 1)
    assert index._last.expiries is None
    index.append(0, 1, 77)
    index.append(0, 1)
    assert [index.expires_at(sequence) for sequence in range(3)] == [0, 77, 0]


@pytest.mark.parametrize("start", [0, 1 << 32])
def test_restore_keeps_sequences_and_gaps(start: int) -> None:
    index = QueueIndex(start)
    places = [3, 4, 9, CHUNK_ENTRIES - 1, CHUNK_ENTRIES, 5 * CHUNK_ENTRIES + 7]
    for place in places:
        index.restore(place, 10 + place, 1, place == 9, 50 if place == 4 else 0)
    assert index.ready == len(index) == len(places)
    assert index.expires_at(4) == 50
    assert index.tail == max(start, places[-1] + 1)
    with pytest.raises(IllegalTransition):
        index.restore(8, 0, 1)
    new = index.append(0, 1)
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
    for state, change in product(EntryState, ("settle", "requeue", "take", "purge")):
        index = QueueIndex()
        index.append(0, 1)
        if state is not EntryState.READY:
            index.take()
        if state is EntryState.REDELIVERED:
            index.requeue(0)
        if state is EntryState.GONE:
            index.settle(0)
        try:
            if change == "take":
                index.take()
            elif change == "purge":
                list(index.purge())
            else:
                getattr(index, change)(0)
        except IllegalTransition:
            assert index.state_of(0) is state
        after = index.state_of(0)
        assert after is state or after in TRANSITIONS[state]
