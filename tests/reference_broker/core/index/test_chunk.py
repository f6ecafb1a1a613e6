"""A chunk of an index: its columns give what a list of rows gives, looked at row by row."""

from __future__ import annotations

from array import array
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.index.chunk import GONE, READY, REDELIVERED, TAKEN, Chunk
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.core.message.content import NOT_STORED

BASE = 1_000
LIVE = (READY, REDELIVERED, TAKEN)


class Row(NamedTuple):
    """One entry as a list would have it."""

    state: int
    position: int
    size: int = 7
    stored: int = 9
    expires_at: int = 0


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Entries as they come about: positions of the log rise, and some entries are in no log. Many
    are more than the end of a chunk that is looked at first."""
    few = draw(
        st.lists(
            st.tuples(st.sampled_from((*LIVE, READY, GONE)), st.integers(1, 3), st.booleans()),
            max_size=12,
        )
    )
    all_logged, expires_at = draw(st.booleans()), draw(st.sampled_from([0, 50_000]))
    found: list[Row] = []
    position = draw(st.integers(0, 200))
    for state, step, marked in few * draw(st.sampled_from([1, 1, 20])):
        position += step
        logged = all_logged or not marked
        found.append(
            Row(state, position if logged else NOT_STORED, len(found), 2, expires_at * marked)
        )
    return found


def chunk_of(entries: list[Row]) -> Chunk:
    chunk = Chunk(BASE)
    for row in entries:
        chunk.append_ready(
            array("q", (row.position,)), array("I", (row.size,)), array("I", (row.stored,))
        )
    for offset, row in enumerate(entries):
        chunk.states[offset] = row.state
        if row.expires_at:
            chunk.with_expiries()[offset] = row.expires_at
    chunk.live = sum(row.state != GONE for row in entries)
    chunk.returned = sum(row.state == REDELIVERED for row in entries)
    return chunk


def listed(columns: EntryColumns | None) -> list[tuple[int, Row]]:
    if columns is None:
        return []
    expiries = columns.expiries or [0] * len(columns.positions)
    values = zip(
        columns.states, columns.positions, columns.sizes, columns.stored, expiries, strict=True
    )
    return [(each, Row(*row)) for each, row in zip(columns.sequences, values, strict=True)]


@given(rows(), st.integers(0, 200))
def test_the_first_ready_entry_and_those_that_follow_it(entries: list[Row], start: int) -> None:
    chunk = chunk_of(entries)
    ready = [n for n, row in enumerate(entries) if n >= start and row.state in (READY, REDELIVERED)]
    assert chunk.first_ready(start) == (ready[0] if ready else -1)
    run = [n for place, n in enumerate(ready) if n - place == ready[0]]
    assert list(chunk.ready_run(start)) == run


@given(rows(), st.integers(0, 700), st.integers(0, 700))
def test_live_columns_are_the_live_rows_of_a_piece_of_the_log(
    entries: list[Row], start: int, length: int
) -> None:
    chunk, end = chunk_of(entries), start + length
    expected = [
        (BASE + offset, row)
        for offset, row in enumerate(entries)
        if row.state != GONE and row.position >= 0 and start <= row.position < end
    ]
    if any(row.position >= start for row in entries):  # the index asks no other chunk
        assert listed(chunk.live_columns(5, start, end)) == expected


@given(rows(), st.integers(0, 700))
def test_where_a_chunk_lies_in_the_log(entries: list[Row], position: int) -> None:
    places = [row.position for row in entries if row.position >= 0]
    if places:
        chunk = chunk_of(entries)
        assert chunk.lies_before(position) == all(place < position for place in places)
        assert chunk.lies_behind(position) == all(place >= position for place in places)


@given(rows(), rows())
def test_extending_appends_live_rows_and_leaves_the_holes_gone(
    before: list[Row], more: list[Row]
) -> None:
    more = [row for row in more if row.position >= 0]
    piece = chunk_of(more).live_columns(5, 0, 1 << 40) if more else None
    if piece is None:
        return
    chunk = chunk_of(before)
    shift = BASE + len(before) - piece.sequences[0]
    chunk.extend(piece._replace(sequences=array("Q", [each + shift for each in piece.sequences])))
    behind = before + [Row(GONE, NOT_STORED, 0, 0)] * (len(chunk.states) - len(before))
    for sequence, row in listed(piece):
        behind[sequence + shift - BASE] = row
    assert list(chunk.states) == [row.state for row in behind]
    columns = (chunk.positions, chunk.sizes, chunk.stored)
    assert list(zip(*columns, strict=True)) == [row[1:4] for row in behind]
    assert [chunk.expires_at(n) for n in range(len(behind))] == [row.expires_at for row in behind]
    assert chunk.live == sum(row.state != GONE for row in behind)
    assert chunk.returned == sum(row.state == REDELIVERED for row in behind)


@given(rows(), st.integers(0, 700))
def test_what_was_ready_below_a_position_is_redelivered(entries: list[Row], position: int) -> None:
    entries = [row for row in entries if row.position >= 0]
    if not entries:
        return
    chunk = chunk_of(entries)
    chunk.mark_redelivered_below(position)
    expected = [
        REDELIVERED if row.state == READY and row.position < position else row.state
        for row in entries
    ]
    assert list(chunk.states) == expected
    assert chunk.returned == expected.count(REDELIVERED)
