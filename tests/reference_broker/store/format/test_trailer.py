from __future__ import annotations

import pytest

from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store.disk.ports import CreateFile, TruncateFile, Write
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.record import FRAME, FRAME_BYTES
from reference_broker.store.format.segment import HEADER_BYTES, SegmentHeader, SegmentName
from reference_broker.store.format.trailer import (
    FIRST_READ_BYTES,
    TRAILER_BYTES,
    encode_trailer,
    read_footer_payload,
    read_header,
    read_record,
)

NAME = SegmentName(1000, 2)
KIND = ChecksumKind.CRC32C


def framed(payload: bytes, offset: int) -> bytes:
    seed = NAME.seed ^ (NAME.base + offset)
    return FRAME.pack(len(payload), checksum_of(KIND)(payload, seed)) + payload


def disk_with(data: bytes) -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.perform(CreateFile(NAME.file, len(data)))
    disk.perform(Write(NAME.file, 0, [data]))
    return disk


def complete(payload: bytes) -> bytes:
    data = SegmentHeader(NAME, KIND, 0).encode() + framed(payload, HEADER_BYTES)
    return data + encode_trailer(HEADER_BYTES, len(payload))


@pytest.mark.parametrize("size", [1, 100, 2 * FIRST_READ_BYTES])
def test_the_trailer_leads_to_the_footer(size: int) -> None:
    payload = b"\x0d" * size
    assert read_footer_payload(disk_with(complete(payload)), NAME, KIND) == payload


def test_a_file_that_does_not_end_with_its_trailer_is_not_complete() -> None:
    data = complete(b"\x0dfooter")
    for cut in range(len(data)):
        disk = disk_with(data)
        disk.perform(TruncateFile(NAME.file, cut))
        assert read_footer_payload(disk, NAME, KIND) is None
    assert read_footer_payload(disk_with(data + b"\0"), NAME, KIND) is None


def test_any_flipped_bit_of_footer_or_trailer_is_seen() -> None:
    data = complete(b"\x0dfooter")
    for bit in range(HEADER_BYTES * 8, len(data) * 8):
        disk = disk_with(data)
        disk.flip(NAME.file, bit)
        assert read_footer_payload(disk, NAME, KIND) is None
    assert len(data) == HEADER_BYTES + FRAME_BYTES + 7 + TRAILER_BYTES


@pytest.mark.parametrize("size", [1, FIRST_READ_BYTES - FRAME_BYTES, FIRST_READ_BYTES, 20_000])
def test_a_record_is_read_by_itself(size: int) -> None:
    data = bytes(HEADER_BYTES) + framed(b"\x07" * size, HEADER_BYTES) + bytes(50)
    assert read_record(disk_with(data), NAME, HEADER_BYTES, KIND) == b"\x07" * size
    assert read_record(disk_with(data), NAME, HEADER_BYTES + 1, KIND) is None
    assert read_record(disk_with(data), NAME, len(data) + 5, KIND) is None
    assert read_record(disk_with(data[: HEADER_BYTES + size]), NAME, HEADER_BYTES, KIND) is None


def test_a_rotten_length_reads_nothing_beyond_the_file() -> None:
    data = bytes(HEADER_BYTES) + FRAME.pack(0xFFFFFFFF, 1) + bytes(50)
    disk = disk_with(data)
    asked = []
    read_range = disk.read_range

    def watched(file: str, offset: int, size_bytes: int) -> bytes:
        asked.append(size_bytes)
        return read_range(file, offset, size_bytes)

    disk.read_range = watched  # type: ignore[method-assign]
    assert read_record(disk, NAME, HEADER_BYTES, KIND) is None
    assert max(asked) <= FIRST_READ_BYTES


def test_a_header_under_another_name_is_none() -> None:
    header = SegmentHeader(NAME, KIND, 5)
    assert read_header(disk_with(header.encode()), NAME) == header
    stranger = SegmentHeader(NAME._replace(generation=1), KIND, 5)
    assert read_header(disk_with(stranger.encode()), NAME) is None
    assert read_header(disk_with(b""), NAME) is None
