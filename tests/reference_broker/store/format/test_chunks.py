"""The chunks of a large body come as they stand, and one that is not what was written is told."""

from __future__ import annotations

import pytest

from reference_broker.simulation.disk.chunks import small_chunks
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store.disk.ports import CreateFile, Write
from reference_broker.store.format.checksum import PREFERRED, checksum_of
from reference_broker.store.format.chunks import ChunkDamaged, verified_chunks
from reference_broker.store.format.read_window import ReadWindow
from reference_broker.store.format.record import CHUNK_PAYLOAD, FRAME

FILE, SEED, POSITION = "a file", 77, 5_000
CHECKSUM = checksum_of(PREFERRED)


def written(*parts: bytes, head: bytes = CHUNK_PAYLOAD) -> bytes:
    """Each part as a chunk, from :data:`POSITION` on."""
    data = b""
    for part in parts:
        payload = head + part
        checksum = CHECKSUM(payload, SEED ^ (POSITION + len(data)))
        data += FRAME.pack(len(payload), checksum) + payload
    return data


def found(data: bytes, body_length: int) -> bytes:
    disk = SimulatedDisk()
    disk.perform(CreateFile(FILE, len(data)))
    disk.perform(Write(FILE, 0, [data]))
    window = ReadWindow(disk, FILE, [0])
    with small_chunks(10):
        return b"".join(verified_chunks(window, 0, POSITION, SEED, CHECKSUM, body_length))


def test_they_come_as_they_stand() -> None:
    data = written(b"0123456789", b"abcdefghij", b"xyz")
    assert found(data, 23) == data


@pytest.mark.parametrize("at", [0, 5, 9, 20, 40])
def test_a_flipped_bit_is_told(at: int) -> None:
    data = bytearray(written(b"0123456789", b"abcdefghij", b"xyz"))
    data[at] ^= 1
    with pytest.raises(ChunkDamaged, match=f"its part at {10 * (at // 19)} is wrong"):
        found(bytes(data), 23)


def test_another_record_is_told() -> None:
    with pytest.raises(ChunkDamaged, match="another record is where its part at 0"):
        found(written(b"0123456789", head=b"\x01"), 10)
