"""The trailer at the end of a complete file, and reading single records of a file.

::

    footer offset u32 | footer length u32 | "MQKITEND" | crc u32 (zlib's, of what is before it)

The trailer is the last thing in the file. The offset is that of the FOOTER's frame, the length that
of its payload.
"""

from __future__ import annotations

import struct
import zlib

from reference_broker.store.disk.ports import Disk
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.record import FRAME, FRAME_BYTES
from reference_broker.store.format.segment import HEADER_BYTES, SegmentHeader, SegmentName

_TRAILER = struct.Struct(">II8s")
_CRC = struct.Struct(">I")
_MAGIC = b"MQKITEND"
TRAILER_BYTES = _TRAILER.size + _CRC.size

FIRST_READ_BYTES = 4096
"""Most records that are read one by one are no longer than this."""


def encode_trailer(offset: int, length: int) -> bytes:
    """The last bytes of a file whose FOOTER's frame is at ``offset``, with a payload of
    ``length``."""
    fields = _TRAILER.pack(offset, length, _MAGIC)
    return fields + _CRC.pack(zlib.crc32(fields))


def read_header(disk: Disk, name: SegmentName) -> SegmentHeader | None:
    """``None`` when it is damaged, or another segment's. Raises as :meth:`SegmentHeader.decode`,
    and ``OSError`` as the disk gives it."""
    header = SegmentHeader.decode(disk.read_range(name.file, 0, HEADER_BYTES))
    return header if header is not None and header.name == name else None


def read_footer_payload(disk: Disk, name: SegmentName, checksum: ChecksumKind) -> bytes | None:
    """``None`` when the file doesn't end with a trailer, or something there is damaged."""
    size_bytes = disk.size(name.file)
    trailer = disk.read_range(name.file, max(size_bytes - TRAILER_BYTES, 0), TRAILER_BYTES)
    fields = trailer[: _TRAILER.size]
    if trailer[_TRAILER.size :] != _CRC.pack(zlib.crc32(fields)):
        return None
    offset, length, magic = _TRAILER.unpack(fields)
    if magic != _MAGIC or offset + FRAME_BYTES + length + TRAILER_BYTES != size_bytes:
        return None
    return read_record(disk, name, offset, checksum, FRAME_BYTES + length)


def read_record(
    disk: Disk,
    name: SegmentName,
    offset: int,
    checksum: ChecksumKind,
    first_read_bytes: int = FIRST_READ_BYTES,
) -> bytes | None:
    """The payload of a segment's own record (not of one in an extent) at ``offset``; ``None`` when
    it is damaged. Raises ``OSError`` as the disk gives it."""
    data = disk.read_range(name.file, offset, first_read_bytes)
    if len(data) <= FRAME_BYTES:
        return None
    length, expected = FRAME.unpack_from(data)
    payload = data[FRAME_BYTES : FRAME_BYTES + length]
    if len(payload) < length <= disk.size(name.file) - offset - FRAME_BYTES:
        payload += disk.read_range(name.file, offset + len(data), length - len(payload))
    seed = name.seed ^ ((name.base + offset) & 0xFFFFFFFF)
    if not length or len(payload) < length or checksum_of(checksum)(payload, seed) != expected:
        return None
    return payload
