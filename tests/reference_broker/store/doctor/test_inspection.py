"""Looking at all bytes of a file: every record with its place, and every place without one."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.store.doctor.inspection import Inspection, seen_records
from reference_broker.store.format.record import FRAME, RecordType
from reference_broker.store.format.segment import HEADER_BYTES, SegmentName
from reference_broker.store.format.trailer import TRAILER_BYTES


def inspect(disk: Any, file: str) -> Inspection:
    name = SegmentName.parse(file)
    assert name is not None
    return Inspection(disk, name)


def test_records_follow_each_other_without_a_hole(closed_disk: Any) -> None:
    for file in closed_disk.segments:
        at = HEADER_BYTES
        for seen in inspect(closed_disk, file).records():
            assert seen.offset == at
            assert seen.payload is not None
            assert FRAME.unpack_from(closed_disk.files[file], at)[0] == len(seen.payload)
            at = seen.end
        assert at == len(closed_disk.files[file]) - TRAILER_BYTES
        assert seen.kind is RecordType.FOOTER


def test_copied_records_keep_their_positions(closed_disk: Any) -> None:
    name = SegmentName.parse(closed_disk.segments[0])
    assert name is not None
    seen = list(Inspection(closed_disk, name).records())
    copied = [each for each in seen if each.copied]
    assert {each.kind for each in copied} == {RecordType.PUBLISH}
    assert all(each.position > name.base + each.offset for each in copied[1:])
    assert [each.position for each in copied] == sorted(each.position for each in copied)
    own = [each for each in seen if not each.copied]
    assert all(each.position == name.base + each.offset for each in own)


def test_preallocated_space_is_nothing(open_disk: Any) -> None:
    file = open_disk.segments[-1]
    seen = list(inspect(open_disk, file).records())
    assert all(each.payload is not None for each in seen)
    assert seen[-1].end == len(open_disk.files[file].rstrip(b"\0"))


@pytest.mark.parametrize("kind", [RecordType.SEALED, RecordType.FOOTER, RecordType.CENSUS])
def test_a_gap_is_where_the_damage_is_and_the_rest_is_seen(
    closed_disk: Any, kind: RecordType
) -> None:
    file = next(each for each in closed_disk.segments if each.endswith("-00000000.segment"))
    before = list(inspect(closed_disk, file).records())
    (place,) = [each for each in before if each.kind is kind]
    closed_disk.flip(file, place.end - 1)
    after = list(inspect(closed_disk, file).records())
    (gap,) = [each for each in after if each.kind is None]
    assert gap.offset == place.offset
    assert gap.payload is None
    kinds = [each.kind for each in after if each.kind is not None]
    assert kinds == [each.kind for each in before if each.kind is not kind]


def test_bytes_behind_the_trailer_are_seen(closed_disk: Any) -> None:
    file = closed_disk.segments[0]
    end = len(closed_disk.files[file])
    closed_disk.files[file] += b"more"
    *_, last = inspect(closed_disk, file).records()
    assert (last.kind, last.offset, last.size_bytes) == (None, end, 4)


def test_a_damaged_header_doesnt_hide_the_records(closed_disk: Any) -> None:
    file = closed_disk.segments[1]
    before = list(inspect(closed_disk, file).records())
    closed_disk.flip(file, 20)
    inspection = inspect(closed_disk, file)
    assert inspection.header is None
    assert list(inspection.records()) == before


def test_all_segments_in_log_order(closed_disk: Any) -> None:
    closed_disk.flip(closed_disk.segments[1], 0)
    seen = list(seen_records(closed_disk))
    assert list(dict.fromkeys(each.file for each in seen)) == closed_disk.segments
    unreadable = [(each.file, each.offset) for each in seen if each.payload is None]
    assert unreadable == [(closed_disk.segments[1], 0)]
