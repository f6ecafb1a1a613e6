"""Frames: what everything on a link is cut into. Numbers are big-endian.

::

    0       4        8      9      10      11             11 + length
    +-------+--------+------+------+-------+- - - - - - - -+
    |  crc  | length | lane | kind | flags | payload       |
    |  u32  |  u32   |  u8  |  u8  |  u8   |               |
    +-------+--------+------+------+-------+- - - - - - - -+

The crc is CRC-32C of all that follows it. A message whose payload is larger than a frame's goes in
several: MORE is in the flags of all but the last, CONTINUES in those of all but the first, and
those with MORE are full. Frames of other lanes may come between them, and replies of the same lane.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reference_broker.cluster.link.lane import Lane
from reference_broker.store.format.checksum import ChecksumKind, checksum_of

FRAME_PAYLOAD_MAX = 256 * 1024
"""Octets of one frame's payload. It is what a frame of another lane may have to wait for: 2 ms at
1 Gbit/s."""

MORE = 1
CONTINUES = 2
FLAGS = MORE | CONTINUES

HEAD = struct.Struct(">IIBBB")
HEAD_BYTES = HEAD.size
CRC_BYTES = 4
_FIELDS = struct.Struct(">IBBB")
_CRC = struct.Struct(">I")

crc32c = checksum_of(ChecksumKind.CRC32C)

Buffer = bytes | memoryview


class Piece(NamedTuple):
    """The part of a message that goes in one frame."""

    buffers: Sequence[Buffer]
    length: int
    flags: int


def frame_head(lane: Lane, kind: int, piece: Piece) -> bytes:
    """The octets that go before the piece's buffers."""
    buffers, length, flags = piece
    fields = _FIELDS.pack(length, lane, kind, flags)
    checksum = crc32c(fields, 0)
    for buffer in buffers:
        checksum = crc32c(buffer, checksum)
    return _CRC.pack(checksum) + fields


def encode_frame(lane: Lane, kind: int, payload: Buffer, flags: int = 0) -> bytes:
    """A whole frame in one block: for what is small."""
    return b"".join((frame_head(lane, kind, Piece((payload,), len(payload), flags)), payload))


def cut(buffers: Sequence[Buffer], size: int) -> Iterator[Piece]:
    """A message of ``size`` octets in pieces, each full but the last. No octet is copied."""
    if size <= FRAME_PAYLOAD_MAX:
        yield Piece(buffers, size, 0)
        return
    flags = MORE
    piece: list[Buffer] = []
    room = FRAME_PAYLOAD_MAX
    for buffer in buffers:
        view = memoryview(buffer)
        while len(view) > room:
            if room:
                piece.append(view[:room])
                view = view[room:]
            yield Piece(piece, FRAME_PAYLOAD_MAX, flags)
            flags = MORE | CONTINUES
            piece = []
            room = FRAME_PAYLOAD_MAX
        piece.append(view)
        room -= len(view)
    yield Piece(piece, FRAME_PAYLOAD_MAX - room, CONTINUES)
