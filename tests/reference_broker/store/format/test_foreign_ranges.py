from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.store.format.foreign_ranges import EntryRanges, ForeignRanges


def test_entries_that_follow_each_other_are_one_range() -> None:
    ranges = EntryRanges()
    for sequence in (1, 2, 3, 7, 8, 5):
        ranges.add(7, sequence, sequence)
    ranges.add(8, 4, 9)
    assert list(ranges) == [(7, 1, 3), (7, 7, 8), (7, 5, 5), (8, 4, 9)]
    assert len(ranges) == 4


def test_add_tells_if_it_took_another_range() -> None:
    ranges = EntryRanges()
    assert ranges.add(7, 1, 1)
    assert not ranges.add(7, 2, 2)
    assert ranges.add(7, 9, 9)
    assert ranges.count == 2


def test_what_comes_after_a_close_takes_a_range_of_its_own() -> None:
    ranges = EntryRanges()
    ranges.add(7, 1, 1)
    ranges.close()
    assert ranges.add(7, 2, 2)
    assert not ranges.add(7, 3, 3)
    assert list(ranges) == [(7, 1, 1), (7, 2, 3)]
    ranges.close()
    assert list(ranges) == [(7, 1, 1), (7, 2, 3)]
    assert len(ranges) == 2


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2**63 - 1))))
def test_nothing_is_lost_and_nothing_is_added(entries: list[tuple[int, int]]) -> None:
    ranges = EntryRanges()
    for queue_id, sequence in entries:
        ranges.add(queue_id, sequence, sequence)
    assert sorted(set(entries)) == sorted(
        {
            (queue_id, sequence)
            for queue_id, first, last in ranges
            for sequence in range(first, last + 1)
        }
    )


def test_the_length_counts_acked_and_requeued_ranges() -> None:
    foreign = ForeignRanges()
    assert len(foreign) == 0
    foreign.acked.add(7, 1, 4)
    foreign.requeued.add(7, 5, 5)
    assert len(foreign) == 2
