from __future__ import annotations

import pytest

from reference_broker.errors import StoreError
from reference_broker.store.format import scan as scan_module
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.extents import Extent
from reference_broker.store.format.record import (
    CLOSED_PAYLOAD,
    FRAME,
    RecordType,
    encode_define,
    encode_extent,
    encode_synced,
)
from reference_broker.store.format.scan import Found, Gap, SegmentScan
from reference_broker.store.format.segment import HEADER_BYTES, SegmentName

NAME = SegmentName(1000, 2)
CHECKSUM = checksum_of(ChecksumKind.CRC32C)


def framed(payload: bytes, position: int, name: SegmentName = NAME) -> bytes:
    checksum = CHECKSUM(payload, name.seed ^ (position & 0xFFFFFFFF))
    return FRAME.pack(len(payload), checksum) + payload


def segment(*payloads: bytes, name: SegmentName = NAME, slack: int = 100) -> bytes:
    data = bytes(HEADER_BYTES)
    for payload in payloads:
        data += framed(payload, name.base + len(data), name)
    return data + bytes(slack)


def scan(data: bytes, name: SegmentName = NAME) -> list[Found | Gap]:
    return list(SegmentScan(name, data, CHECKSUM))


def payloads(items: list[Found | Gap]) -> list[bytes]:
    return [bytes(item.payload) for item in items if isinstance(item, Found)]


RECORDS = [encode_define(f"key {index}", bytes([index]) * 20) for index in range(6)]


def test_all_records_and_then_the_end() -> None:
    items = scan(segment(*RECORDS))
    assert payloads(items) == RECORDS
    assert items[0].start if isinstance(items[0], Gap) else items[0].position == 1064
    assert [item.end for item in items[:-1]] == [
        item.position for item in items[1:] if isinstance(item, Found)
    ]


EXTENTS = [
    Extent(500, 1, ChecksumKind.CRC32, 700, 0),
    Extent(5000, 2, ChecksumKind.CRC32C, 6000, 0),
]


def rewritten(slack: int = 0) -> tuple[bytes, list[bytes]]:
    """Two extents of two records each, with a record of its own behind each; and all payloads."""
    data = bytes(HEADER_BYTES)
    expected = []
    for index, extent in enumerate(EXTENTS):
        raw = b""
        for payload in RECORDS[2 * index : 2 * index + 2]:
            checksum = checksum_of(extent.checksum)
            position = extent.position + len(raw)
            raw += FRAME.pack(len(payload), checksum(payload, extent.seed ^ position)) + payload
        head = encode_extent(extent._replace(size_bytes=len(raw)))
        data += framed(head, NAME.base + len(data)) + raw
        data += framed(RECORDS[4 + index], NAME.base + len(data))
        expected += [head, *RECORDS[2 * index : 2 * index + 2], RECORDS[4 + index]]
    return data + bytes(slack), expected


def test_extents_are_walked_with_their_own_positions_and_checksums() -> None:
    data, expected = rewritten()
    items = scan(data)
    assert payloads(items) == expected
    positions = [item.position for item in items if isinstance(item, Found)]
    assert positions[1:3] == [700, 700 + FRAME.size + len(RECORDS[0])]
    assert positions[5] == 6000


def test_a_flipped_bit_of_an_extent_costs_one_record_and_of_its_head_the_extent() -> None:
    data, expected = rewritten(slack=50)
    for place in range(HEADER_BYTES, len(data) - 50):
        flipped = bytearray(data)
        flipped[place] ^= 0x20
        found = payloads(scan(bytes(flipped)))
        missing = [each for each in expected if each not in found]
        assert len(missing) == (3 if missing[0][0] == RecordType.EXTENT else 1), place
        assert found == [each for each in expected if each not in missing]


def test_an_extent_of_zeros_is_a_gap_also_at_the_end_of_the_file() -> None:
    data, expected = rewritten()
    start = len(data) - FRAME.size - len(RECORDS[5])
    raw = 2 * FRAME.size + len(RECORDS[2]) + len(RECORDS[3])
    items = scan(data[: start - raw] + bytes(raw))
    assert payloads(items) == expected[:5]
    assert items[-1] == Gap(6000, 6000 + raw)


def test_nothing_follows_an_end_record() -> None:
    assert payloads(scan(segment(CLOSED_PAYLOAD, *RECORDS))) == [CLOSED_PAYLOAD]


@pytest.mark.parametrize("length", range(HEADER_BYTES + 1))
def test_a_file_without_records(length: int) -> None:
    assert scan(bytes(length)) == []


def test_any_cut_gives_whole_records_and_at_most_one_gap_at_the_end() -> None:
    data = segment(*RECORDS, slack=0)
    ends = [item.end - NAME.base for item in scan(data)]
    for cut in range(HEADER_BYTES, len(data)):
        for slack in (0, 200):
            items = scan(data[:cut] + bytes(slack))
            whole = sum(end <= cut for end in ends)
            assert payloads(items)[:whole] == RECORDS[:whole]
            rest = items[whole:]
            assert len(rest) <= 1
            # A record whose own last bytes are zeros survives a cut of just those.
            assert all(isinstance(item, Gap) for item in rest) or slack


def test_any_flipped_bit_costs_one_record_and_the_walk_goes_on() -> None:
    data = segment(*RECORDS)
    written = len(data) - 100
    ends = [item.end - NAME.base for item in scan(data)]
    for bit in range(HEADER_BYTES * 8, written * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << (bit % 8)
        hit = sum(end <= bit // 8 for end in ends)
        items = scan(bytes(flipped))
        assert payloads(items) == RECORDS[:hit] + RECORDS[hit + 1 :]
        (gap,) = [item for item in items if isinstance(item, Gap)]
        assert gap.end == NAME.base + ends[hit]


def test_a_block_of_zeros_in_the_middle_is_a_gap_not_the_end() -> None:
    data = bytearray(segment(*RECORDS))
    ends = [item.end - NAME.base for item in scan(bytes(data))]
    data[ends[1] : ends[3]] = bytes(ends[3] - ends[1])
    items = scan(bytes(data))
    assert payloads(items) == RECORDS[:2] + RECORDS[4:]
    assert Gap(NAME.base + ends[1], NAME.base + ends[3]) in items


def test_a_stale_or_misdirected_block_fails() -> None:
    assert payloads(scan(segment(*RECORDS), SegmentName(NAME.base, NAME.epoch + 1))) == []
    assert payloads(scan(segment(*RECORDS), SegmentName(NAME.base + 4096, NAME.epoch))) == []
    data = segment(*RECORDS, slack=0)
    moved = data[:HEADER_BYTES] + bytes(512) + data[HEADER_BYTES:]
    assert payloads(scan(moved)) == []


def test_a_sound_record_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(StoreError, match="record type 200 at position 1064 is unknown"):
        scan(segment(b"\xc8from the future"))


def test_when_the_search_budget_is_spent_only_synced_records_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scan_module, "RESYNC_BUDGET_BYTES", 64)
    # Every byte of the damaged record looks like the start of a 16 KiB record.
    decoy = b"\x00\x00\x40\x00" + b"\x01" * 60
    synced = encode_synced(1)
    data = bytearray(segment(decoy * 1000, RECORDS[0], synced, RECORDS[1]))
    data[HEADER_BYTES] ^= 1
    assert payloads(scan(bytes(data))) == [synced, RECORDS[1]]
