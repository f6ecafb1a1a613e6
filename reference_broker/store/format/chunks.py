"""The chunks of a large body: the records that follow its message, each verified as it is read."""

from __future__ import annotations

from collections.abc import Iterator

from reference_broker.errors import ReferenceBrokerError
from reference_broker.store.format import record
from reference_broker.store.format.checksum import Checksum
from reference_broker.store.format.read_window import ReadWindow
from reference_broker.store.format.record import (
    CHUNK_OVERHEAD_BYTES,
    FRAME,
    FRAME_BYTES,
    RecordType,
)

_MASK = 0xFFFFFFFF


class ChunkDamaged(ReferenceBrokerError):
    """A part of a body is not what was written."""


def verified_chunks(
    window: ReadWindow, offset: int, position: int, seed: int, checksum: Checksum, body_length: int
) -> Iterator[memoryview]:
    """Each chunk, with its frame, of a body whose chunks begin at ``offset`` of the file and
    ``position`` of the log. Raises :exc:`ChunkDamaged`, and as the window does."""
    for start in range(0, body_length, record.CHUNK_BYTES):
        size = min(record.CHUNK_BYTES, body_length - start)
        chunk = memoryview(window.alone(offset, CHUNK_OVERHEAD_BYTES + size))
        payload = chunk[FRAME_BYTES:]
        found = checksum(payload, seed ^ (position & _MASK))
        if FRAME.unpack(chunk[:FRAME_BYTES]) != (len(payload), found):
            raise ChunkDamaged(f"the checksum of its part at {start} is wrong")
        if payload[0] != RecordType.CHUNK:
            raise ChunkDamaged(f"another record is where its part at {start} should be")
        yield chunk
        offset += len(chunk)
        position += len(chunk)
