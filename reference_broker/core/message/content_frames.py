"""A message's content header and body as frames, for whatever method they follow.

    +------+---------+----------+---------+------+------+---------+----------+---------+------+
    | 0x02 | channel | size     | header  | 0xCE | 0x03 | channel | size     | body .. | 0xCE |
    +------+---------+----------+---------+------+------+---------+----------+---------+------+

The header travels through the broker as the bytes that arrived, so there is nothing to encode. An
empty body has no frame; one above ``frame_max - 8`` is cut into as many as it takes. These are
views of the body that the queues hold: however many consumers are given a large message, there is
one of it. Nothing is joined here; that is the runtime's business (law 2).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from reference_broker.core.message.content import Body

Piece: TypeAlias = bytes | bytearray | memoryview
"""A part of what is to be sent. Nobody changes it any more."""

FRAME_HEADER = struct.Struct(">BHI")
FRAME_END = b"\xce"
FRAME_OVERHEAD = FRAME_HEADER.size + len(FRAME_END)

_METHOD = 1
_HEADER = 2
_BODY = 3


def append_content(
    output: list[Piece],
    channel_number: int,
    method: bytes,
    header: bytes,
    body: Body,
    frame_max: int,
) -> int:
    """Append the frames of a method that has content; returns how many bytes they are.

    ``method`` is the method frame's payload (see :func:`mqkit.wire.encode_method`).
    """
    output += (
        FRAME_HEADER.pack(_METHOD, channel_number, len(method)),
        method,
        FRAME_END,
        FRAME_HEADER.pack(_HEADER, channel_number, len(header)),
        header,
        FRAME_END,
    )
    size = len(method) + len(header) + 2 * FRAME_OVERHEAD
    piece_max = frame_max - FRAME_OVERHEAD
    if not body:
        return size
    if len(body) <= piece_max:
        output += (FRAME_HEADER.pack(_BODY, channel_number, len(body)), body, FRAME_END)
        return size + len(body) + FRAME_OVERHEAD
    whole = memoryview(body)
    for start in range(0, len(body), piece_max):
        piece = whole[start : start + piece_max]
        output += (FRAME_HEADER.pack(_BODY, channel_number, len(piece)), piece, FRAME_END)
        size += len(piece) + FRAME_OVERHEAD
    return size
