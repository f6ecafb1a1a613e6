"""Segments: the files of the log, their names, their header, their size.

A log position is a number of bytes that only grows. A segment's base is the position of its first
byte, the header included, so a record's place in the file is its position less the base. The next
segment starts at the position where this one's records end.

A file's name carries its whole identity, ``<base>-<epoch>-<generation>.segment`` in hexadecimal:
records can still be verified when the header itself is damaged, and names sort in log order.
Generation 0 was written by appending. A higher one is a *rewritten* segment: what is still needed
of one or more neighbours, in their place. Positions don't change when a segment is rewritten.

::

    0       8         10     11    12      16     24                  32
    +-------+---------+------+-----+-------+------+-------------------+
    | magic | version | crc  | (0) | epoch | base | redelivered below |
    |  8 B  |   u16   | kind |     |  u32  | u64  |        u64        |
    +-------+---------+------+-----+-------+------+-------------------+
    32      40           44         60           64
    +-------+------------+----------+------------+
    |  end  | generation | reserved | header crc |     end: the log position up to which a rewritten
    |  u64  |    u32     | (zeros)  |    u32     |     segment covers the log, 0 for a plain one
    +-------+------------+----------+------------+

The header crc is always zlib's CRC-32, since the kind isn't known before it is read. Entries whose
record lies under "redelivered below" were alive at an unclean start: each header carries the
newest such position on, so that no record has to be written per message, and none is pinned.

What follows the header::

    plain       record ... | SEALED or CLOSED | FOOTER | trailer
    rewritten   EXTENT, and its bytes of consecutive records as they were ... | ACK, REQUEUE ...
                | SEALED | FOOTER | trailer

A file that is complete ends with its trailer, which says where the FOOTER is
(:mod:`reference_broker.store.format.footer`).
"""

from __future__ import annotations

import re
import struct
import zlib
from functools import lru_cache
from typing import NamedTuple

from reference_broker.errors import StoreError
from reference_broker.store.format.checksum import ChecksumKind

SEGMENT_BYTES = 16 * 1024 * 1024
"""Preallocated at creation, so that a full disk shows there. Large enough that creation (two
syncs) is rare, small enough that a stuck message doesn't hold much."""

HEADER_BYTES = 64
MAGIC = b"MQKITLOG"
VERSION = 2

_HEADER = struct.Struct(">8sHBxIQQQI16x")
_CRC = struct.Struct(">I")
_IDENTITY = struct.Struct(">QI")
_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{8})-([0-9a-f]{8})\.segment")
_NAME_OF_VERSION_1 = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}\.segment")

_NAMES_CACHED = 1024
"""Both are asked for each message that is read back, of a few segments at a time."""

COPY_SUFFIX = ".copy"
QUARANTINE_SUFFIX = ".quarantine"
SPARE_FILE = "spare"
"""The next segment, made ahead: when there is no room for another one, this one is still there."""


@lru_cache(_NAMES_CACHED)
def _file(base: int, epoch: int, generation: int) -> str:
    return f"{base:016x}-{epoch:08x}-{generation:08x}.segment"


@lru_cache(_NAMES_CACHED)
def _seed(base: int, epoch: int) -> int:
    return zlib.crc32(_IDENTITY.pack(base, epoch))


class SegmentName(NamedTuple):
    """The identity of a segment: it differs also from that of an earlier one at the same base."""

    base: int
    epoch: int
    generation: int = 0

    @property
    def file(self) -> str:
        return _file(*self)

    @property
    def copy_file(self) -> str:
        """The name of its file until that is whole."""
        return self.file + COPY_SUFFIX

    @property
    def seed(self) -> int:
        """Mixed into each record's checksum, so that a block of another segment fails it. It does
        not depend on the generation: a record is copied as it is."""
        return _seed(self.base, self.epoch)

    @classmethod
    def parse(cls, file: str) -> SegmentName | None:
        """The name behind a file name; ``None`` when the file isn't a segment. Raises
        :exc:`StoreError` for a segment of an older format."""
        if _NAME_OF_VERSION_1.fullmatch(file):
            raise StoreError(
                f"{file} was written by an older release in format version 1; this broker reads "
                f"version {VERSION}: drain the folder with the release that wrote it"
            )
        match = _NAME.fullmatch(file)
        return None if match is None else cls(*(int(part, 16) for part in match.groups()))


class SegmentHeader(NamedTuple):
    """The first 64 bytes of a segment."""

    name: SegmentName
    checksum: ChecksumKind
    redelivered_below: int
    end: int = 0
    """The log position at which the log goes on behind a rewritten segment; 0 for a plain one."""

    def encode(self) -> bytes:
        fields = _HEADER.pack(
            MAGIC,
            VERSION,
            self.checksum,
            self.name.epoch,
            self.name.base,
            self.redelivered_below,
            self.end,
            self.name.generation,
        )
        return fields + _CRC.pack(zlib.crc32(fields))

    @classmethod
    def decode(cls, data: bytes) -> SegmentHeader | None:
        """``None`` when the header is torn or damaged. Raises :exc:`StoreError` when it is sound
        but of a version or a checksum that this broker doesn't know."""
        fields = data[: HEADER_BYTES - _CRC.size]
        if data[HEADER_BYTES - _CRC.size : HEADER_BYTES] != _CRC.pack(zlib.crc32(fields)):
            return None
        magic, version, kind, epoch, base, redelivered_below, end, generation = _HEADER.unpack(
            fields
        )
        if magic != MAGIC:
            return None
        if version != VERSION or kind not in tuple(ChecksumKind):
            raise StoreError(
                f"segment at position {base} has format version {version}, checksum {kind}; "
                f"this broker reads version {VERSION}"
            )
        name = SegmentName(base, epoch, generation)
        return cls(name, ChecksumKind(kind), redelivered_below, end)


def segment_bytes_for(room_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """The file size of a segment whose first records need ``room_bytes``: a record that is
    larger than a segment gets one of its own size."""
    return max(segment_bytes, HEADER_BYTES + room_bytes)
