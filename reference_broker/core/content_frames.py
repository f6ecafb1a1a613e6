"""A message's content header and body as frames, for whatever method they follow.

    +------+---------+----------+---------+------+------+---------+----------+---------+------+
    | 0x02 | channel | size     | header  | 0xCE | 0x03 | channel | size     | body .. | 0xCE |
    +------+---------+----------+---------+------+------+---------+----------+---------+------+

The header travels through the broker as the bytes that arrived, so there is nothing to encode. An
empty body has no frame; one above ``frame_max - 8`` is cut into as many as it takes. Pieces are
appended and never joined here: the runtime joins once per flush (law 2).
"""

from __future__ import annotations

import struct

FRAME_HEADER = struct.Struct(">BHI")
FRAME_END = b"\xce"
FRAME_OVERHEAD = FRAME_HEADER.size + len(FRAME_END)

_METHOD = 1
_HEADER = 2
_BODY = 3


def append_content(
    output: list[bytes],
    channel_number: int,
    method: bytes,
    header: bytes,
    body: bytes,
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
    for start in range(0, len(body), piece_max):
        piece = body[start : start + piece_max]
        output += (FRAME_HEADER.pack(_BODY, channel_number, len(piece)), piece, FRAME_END)
        size += len(piece) + FRAME_OVERHEAD
    return size
