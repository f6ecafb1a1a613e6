from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.index import sequence_ranges
from reference_broker.core.index.sequence_ranges import SequenceRanges


@given(st.sets(st.integers(0, 60)))
def test_what_was_added_is_there_and_nothing_else(sequences: set[int]) -> None:
    ranges = SequenceRanges()
    for sequence in sorted(sequences):
        ranges.add(sequence)
    assert {sequence for sequence in range(62) if sequence in ranges} == sequences


def test_the_last_range_takes_in_what_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence_ranges, "RANGES_MAX", 2)
    ranges = SequenceRanges()
    for sequence in (1, 3, 4, 8):
        ranges.add(sequence)
    assert [sequence for sequence in range(10) if sequence in ranges] == [1, 3, 4, 5, 6, 7, 8]
