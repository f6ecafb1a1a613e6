from __future__ import annotations

import pytest

from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import Extent, ExtentTable, Origin, Place
from reference_broker.store.format.segment import SegmentName


def table() -> ExtentTable:
    made = ExtentTable()
    made.add(Extent(1000, 3, ChecksumKind.CRC32C, 1100, 50), 98)
    made.add(Extent(1000, 3, ChecksumKind.CRC32C, 1300, 20), 180)
    made.add(Extent(5000, 4, ChecksumKind.CRC32, 5064, 70), 240)
    return made


def test_a_record_is_found_at_its_place_in_its_extent() -> None:
    seed = SegmentName(1000, 3).seed
    assert table().place(1100, "f") == Place("f", 98, seed, ChecksumKind.CRC32C)
    assert table().place(1130, "f") == Place("f", 128, seed, ChecksumKind.CRC32C)
    assert table().place(1300, "f") == Place("f", 180, seed, ChecksumKind.CRC32C)
    other = SegmentName(5000, 4).seed
    assert table().place(5070, "f") == Place("f", 246, other, ChecksumKind.CRC32)


def test_the_plain_segment_that_it_was_written_to_is_known() -> None:
    assert table().origin_at(1319) == Origin(1000, 3, ChecksumKind.CRC32C)
    assert table().origin_at(5064) == Origin(5000, 4, ChecksumKind.CRC32)
    assert len(table().origins) == 2
    assert len(table()) == 3


def test_nothing_lies_below_the_first() -> None:
    with pytest.raises(KeyError):
        table().place(1099, "f")
    with pytest.raises(KeyError):
        table().origin_at(1099)


def test_an_extent_has_the_seed_of_its_segment_whatever_rewrote_it() -> None:
    extent = Extent(1000, 3, ChecksumKind.CRC32C, 1100, 50)
    assert extent.seed == SegmentName(1000, 3).seed == SegmentName(1000, 3, 9).seed
