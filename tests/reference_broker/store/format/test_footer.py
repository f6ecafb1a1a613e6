from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.index.index import EntryState
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import Extent, ExtentTable
from reference_broker.store.format.footer import (
    END_ROOM,
    ENTRY_ROOM,
    FOOTER_RANGE_BYTES,
    FOREIGN_RANGES_ROOM,
    GROUP_ROOM,
    NOTE_ROOM,
    Footer,
    Ranges,
    alive,
    decode_footer,
    encode_footer,
    group_of,
    levels_of,
    ranges_of,
)
from reference_broker.store.format.foreign_ranges import ForeignRanges
from reference_broker.store.format.record import FRAME_BYTES, SEALED_BYTES, RecordType
from reference_broker.store.format.trailer import TRAILER_BYTES

U32 = st.integers(0, 2**32 - 1)
U63 = st.integers(0, 2**63 - 1)
RANGES = st.lists(st.tuples(U63, U63, U63), max_size=4)


@st.composite
def groups(draw: st.DrawFn) -> EntryColumns:
    sequences = sorted(draw(st.sets(U63, min_size=1, max_size=8)))
    if draw(st.booleans()):
        sequences = list(range(sequences[0], sequences[0] + len(sequences)))
    count = len(sequences)

    def column(numbers: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(numbers, min_size=count, max_size=count))

    return EntryColumns(
        draw(U63),
        array("Q", sequences),
        array("q", column(U63)),
        array("I", column(U32)),
        array("I", column(U32)),
        bytes(column(st.sampled_from([0, 1]))),
        array("q", column(U63)) if draw(st.booleans()) else None,
    )


@st.composite
def tables(draw: st.DrawFn) -> ExtentTable:
    table = ExtentTable()
    for position in sorted(draw(st.sets(U63, min_size=1, max_size=5))):
        kind = draw(st.sampled_from(ChecksumKind))
        base = draw(st.sampled_from([position, position // 2]))
        table.add(Extent(base, draw(st.integers(1, 3)), kind, position, 10), draw(U32))
    return table


FOOTERS = st.builds(
    Footer,
    st.sampled_from([RecordType.SEALED, RecordType.CLOSED]),
    U32,
    st.lists(U32, max_size=5).map(lambda notes: array("I", notes)),
    st.lists(groups(), max_size=4),
    st.dictionaries(U63, st.builds(Ranges, RANGES, RANGES), max_size=3),
    st.none() | tables(),
)


def comparable(footer: Footer) -> tuple[object, ...]:
    table = footer.extents
    extents = table and (table.positions, table.offsets, table.which, table.origins)
    groups = [group._replace(sequences=array("Q", group.sequences)) for group in footer.groups]
    return footer.end, footer.epoch, footer.notes, groups, footer.foreign_ranges, extents


@given(FOOTERS)
def test_what_is_decoded_is_what_was_encoded(footer: Footer) -> None:
    payload = encode_footer(footer)
    assert payload[0] == RecordType.FOOTER
    assert comparable(decode_footer(payload)) == comparable(footer)


@given(FOOTERS)
def test_the_room_that_is_taken_for_each_part_is_enough(footer: Footer) -> None:
    footer.extents = None
    needed = SEALED_BYTES + FRAME_BYTES + len(encode_footer(footer)) + TRAILER_BYTES
    ranges = sum(len(each.acked) + len(each.requeued) for each in footer.foreign_ranges.values())
    assert needed <= (
        END_ROOM
        + len(footer.notes) * NOTE_ROOM
        + len(footer.groups) * GROUP_ROOM
        + sum(len(group.sequences) for group in footer.groups) * ENTRY_ROOM
        + len(footer.foreign_ranges) * FOREIGN_RANGES_ROOM
        + ranges * FOOTER_RANGE_BYTES
    )


@given(FOOTERS)
def test_the_layout_does_not_depend_on_the_machine(footer: Footer) -> None:
    """As a machine of the other byte order would see its own columns: swapped."""
    swapped = "little" if sys.byteorder == "big" else "big"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "byteorder", swapped)
        payload = encode_footer(footer)
        assert comparable(decode_footer(payload)) == comparable(footer)


def columns(sequences: list[int], states: bytes | None = None, expiry: int = 0) -> EntryColumns:
    count = len(sequences)
    return EntryColumns(
        7,
        array("Q", sequences),
        array("q", [100 + each for each in range(count)]),
        array("I", [1] * count),
        array("I", [50] * count),
        states if states is not None else bytes(count),
        array("q", [expiry] * count) if expiry else None,
    )


def test_a_queue_is_one_group_in_order_whatever_the_pieces() -> None:
    high = 1 << LEVEL_SHIFT
    pieces = [columns([high + 1, high + 2]), columns([5], expiry=9), columns([1, 2, 4])]
    group = group_of(7, pieces)
    assert group is not None
    assert list(group.sequences) == [1, 2, 4, 5, high + 1, high + 2]
    assert group.expiries is not None
    assert list(group.expiries) == [0, 0, 0, 9, 0, 0]
    assert group_of(7, []) is None
    low, top = levels_of(group)
    assert (low[0], list(low[1].sequences)) == (0, [1, 2, 4, 5])
    assert (top[0], list(top[1].sequences)) == (1, [high + 1, high + 2])
    assert top[1] == group.part(4, 6)
    assert [level for level, _ in levels_of(pieces[2])] == [0]


def test_what_is_handed_out_is_written_as_ready() -> None:
    states = bytes([EntryState.READY, EntryState.TAKEN, EntryState.REDELIVERED])
    group = group_of(7, [columns([1, 2, 3], states)])
    assert group is not None
    assert group.states == bytes([EntryState.READY, EntryState.READY, EntryState.REDELIVERED])


def test_only_queues_with_something_alive_have_a_group() -> None:
    class Source:
        def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
            assert (start, end) == (10, 20)
            if queue_id == 7:
                yield columns([1])

    assert [group.queue_id for group in alive(Source(), [6, 7, 8], 10, 20)] == [7]


def test_foreign_ranges_as_ranges() -> None:
    foreign = ForeignRanges()
    foreign.acked.add(7, 1, 4)
    foreign.requeued.add(8, 5, 5)
    assert ranges_of(foreign) == Ranges([(7, 1, 4)], [(8, 5, 5)])
