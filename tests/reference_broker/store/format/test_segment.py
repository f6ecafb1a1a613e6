from __future__ import annotations

import zlib

import pytest

from reference_broker.errors import StoreError
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.segment import (
    HEADER_BYTES,
    SEGMENT_BYTES,
    SegmentHeader,
    SegmentName,
    segment_bytes_for,
)

HEADER = SegmentHeader(SegmentName(1 << 40, 3, 7), ChecksumKind.CRC32C, 12345, (1 << 40) + 99)


def test_a_header_reads_back_as_it_was_written() -> None:
    assert len(HEADER.encode()) == HEADER_BYTES
    assert SegmentHeader.decode(HEADER.encode() + b"records") == HEADER


def test_a_header_with_any_bit_flipped_is_damaged() -> None:
    for bit in range(HEADER_BYTES * 8):
        data = bytearray(HEADER.encode())
        data[bit // 8] ^= 1 << (bit % 8)
        assert SegmentHeader.decode(bytes(data)) is None


def test_a_header_cut_anywhere_is_damaged() -> None:
    for length in range(HEADER_BYTES):
        assert SegmentHeader.decode(HEADER.encode()[:length]) is None


def test_zeros_are_no_header() -> None:
    assert SegmentHeader.decode(bytes(HEADER_BYTES)) is None


@pytest.mark.parametrize(("at", "value"), [(9, 3), (10, 9)])
def test_a_sound_header_of_another_version_is_refused(at: int, value: int) -> None:
    fields = bytearray(HEADER.encode()[:-4])
    fields[at] = value
    with pytest.raises(StoreError, match="version"):
        SegmentHeader.decode(bytes(fields) + zlib.crc32(fields).to_bytes(4, "big"))


def test_a_foreign_file_with_a_sound_checksum_is_no_header() -> None:
    fields = b"SOMEBODY" + HEADER.encode()[8:-4]
    assert SegmentHeader.decode(fields + zlib.crc32(fields).to_bytes(4, "big")) is None


def test_file_names_carry_the_identity_and_sort_in_log_order() -> None:
    names = [
        SegmentName(0, 1),
        SegmentName(9, 1),
        SegmentName(9, 1, 1),
        SegmentName(9, 1, 300),
        SegmentName(9, 2),
        SegmentName(1 << 33, 1),
    ]
    assert [SegmentName.parse(name.file) for name in names] == names
    assert sorted(name.file for name in names) == [name.file for name in names]


@pytest.mark.parametrize("file", ["lock", "spare", "1.segment", HEADER.name.copy_file])
def test_other_files_are_no_segments(file: str) -> None:
    assert SegmentName.parse(file) is None


def test_seeds_differ_by_base_and_by_epoch() -> None:
    seeds = {SegmentName(base, epoch).seed for base in (0, 1, 4096) for epoch in (1, 2)}
    assert len(seeds) == 6


def test_a_rewritten_segment_has_the_seed_of_the_plain_one() -> None:
    assert SegmentName(4096, 2, 5).seed == SegmentName(4096, 2).seed


def test_a_file_of_the_first_format_is_refused_in_words() -> None:
    with pytest.raises(StoreError, match="format version 1; this broker reads version 2"):
        SegmentName.parse("0000000000000000-00000001.segment")


def test_a_larger_record_gets_a_segment_of_its_own_size() -> None:
    assert segment_bytes_for(SEGMENT_BYTES - HEADER_BYTES) == SEGMENT_BYTES
    assert segment_bytes_for(SEGMENT_BYTES) == SEGMENT_BYTES + HEADER_BYTES
