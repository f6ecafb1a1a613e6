"""Segments: the files of the log, their names, their header, their size.

A log position is a number of bytes that only grows. A segment's base is the position of its first
byte, the header included, so a record's place in the file is its position less the base. The next
segment starts at the position where this one's records end.

A file's name carries its whole identity, ``<base>-<epoch>.segment`` in hexadecimal: records can
still be verified when the header itself is damaged, and names sort in log order.

::

    0       8         10     11    12      16      24                  32         60          64
    +-------+---------+------+-----+-------+-------+-------------------+----------+------------+
    | magic | version | crc  | (0) | epoch | base  | redelivered below | reserved | header crc |
    |  8 B  |   u16   | kind |     |  u32  |  u64  |        u64        | (zeros)  |    u32     |
    +-------+---------+------+-----+-------+-------+-------------------+----------+------------+

The header crc is always zlib's CRC-32, since the kind isn't known before it is read. Entries whose
record lies under "redelivered below" were alive at an unclean start: each header carries the
newest such position on, so that no record has to be written per message, and none is pinned.
"""

from __future__ import annotations

import re
import struct
import zlib
from typing import NamedTuple

from reference_broker.errors import StoreError
from reference_broker.store.checksum import ChecksumKind

SEGMENT_BYTES = 16 * 1024 * 1024
"""Preallocated at creation, so that a full disk shows there. Large enough that creation (two
syncs) is rare, small enough that a stuck message doesn't hold much."""

HEADER_BYTES = 64
MAGIC = b"MQKITLOG"
VERSION = 1

_HEADER = struct.Struct(">8sHBxIQQ28x")
_CRC = struct.Struct(">I")
_IDENTITY = struct.Struct(">QI")
_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{8})\.segment")

COPY_SUFFIX = ".copy"
QUARANTINE_SUFFIX = ".quarantine"


class SegmentName(NamedTuple):
    """What tells one segment from every other, also from an earlier one at the same base."""

    base: int
    epoch: int

    @property
    def file(self) -> str:
        return f"{self.base:016x}-{self.epoch:08x}.segment"

    @property
    def seed(self) -> int:
        """Mixed into each record's checksum, so that a block of another segment fails it."""
        return zlib.crc32(_IDENTITY.pack(*self))

    @classmethod
    def parse(cls, file: str) -> SegmentName | None:
        """The name behind a file name; ``None`` when the file isn't a segment."""
        match = _NAME.fullmatch(file)
        return None if match is None else cls(int(match[1], 16), int(match[2], 16))


class SegmentHeader(NamedTuple):
    """The first 64 bytes of a segment."""

    name: SegmentName
    checksum: ChecksumKind
    redelivered_below: int

    def encode(self) -> bytes:
        fields = _HEADER.pack(
            MAGIC,
            VERSION,
            self.checksum,
            self.name.epoch,
            self.name.base,
            self.redelivered_below,
        )
        return fields + _CRC.pack(zlib.crc32(fields))

    @classmethod
    def decode(cls, data: bytes) -> SegmentHeader | None:
        """``None`` when the header is torn or damaged. Raises :exc:`StoreError` when it is sound
        but of a version or a checksum that this broker doesn't know."""
        fields = data[: HEADER_BYTES - _CRC.size]
        if data[HEADER_BYTES - _CRC.size : HEADER_BYTES] != _CRC.pack(zlib.crc32(fields)):
            return None
        magic, version, kind, epoch, base, redelivered_below = _HEADER.unpack(fields)
        if magic != MAGIC:
            return None
        if version != VERSION or kind not in tuple(ChecksumKind):
            raise StoreError(
                f"segment at position {base} has format version {version}, checksum {kind}; "
                f"this broker reads version {VERSION}"
            )
        return cls(SegmentName(base, epoch), ChecksumKind(kind), redelivered_below)


def segment_bytes_for(room_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """The file size of a segment whose first records need ``room_bytes``: a record that is
    larger than a segment gets one of its own size."""
    return max(segment_bytes, HEADER_BYTES + room_bytes)
