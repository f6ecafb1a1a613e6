"""Plans of rewritings: the places of the sources' records, and the references to carry on."""

from __future__ import annotations

import pytest

from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import Extent, ExtentTable, Origin
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.rewrite_plan import RewritePlan, Source, Span

KIND = ChecksumKind.CRC32
PLAIN = Source(SegmentName(1000, 3), KIND, 500, 1500, None)


def rewritten() -> Source:
    """The segment before it, which has records of two older ones."""
    table = ExtentTable()
    table.add(Extent(0, 1, KIND, 100, 50), 98)
    table.add(Extent(400, 2, KIND, 600, 50), 200)
    return Source(SegmentName(0, 1, 1), KIND, 300, 1000, table)


def plan(*referenced: Span) -> RewritePlan:
    sources = [rewritten(), PLAIN]
    return RewritePlan(SegmentName(0, 1, 2), 1500, sources, [], referenced, 3, 0, 9000, KIND)


def test_in_a_plain_segment_a_record_lies_at_its_position_less_the_base() -> None:
    place = PLAIN.place(1064)
    assert (place.file, place.offset, place.seed) == (PLAIN.name.file, 64, PLAIN.name.seed)
    assert PLAIN.origin(1064) == Origin(1000, 3, KIND)


def test_in_a_rewritten_segment_a_record_lies_in_its_extent() -> None:
    source = rewritten()
    place = source.place(610)
    assert (place.file, place.offset) == (source.name.file, 210)
    assert place.seed == SegmentName(400, 2).seed
    assert (source.origin(110), source.origin(610)) == (Origin(0, 1, KIND), Origin(400, 2, KIND))
    with pytest.raises(KeyError):
        source.place(99)


def test_a_record_is_in_the_source_that_covers_its_position() -> None:
    assert [plan().source_of(position).name.base for position in (0, 999, 1000, 1499)] == [
        *(0, 0),
        *(1000, 1000),
    ]


@pytest.mark.parametrize(
    ("base", "carried"),
    [(1999, False), (2000, True), (2300, True), (2500, False), (3000, True), (3500, False)],
)
def test_references_to_a_segment_are_carried_on_by_any_base_that_was_merged_into_it(
    base: int, carried: bool
) -> None:
    assert plan(Span(2000, 2500), Span(3000, 3500)).carries(base) == carried


def test_without_other_segments_nothing_is_carried_on() -> None:
    assert not plan().carries(0)
