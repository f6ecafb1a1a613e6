"""Frames: what everything on an AMQP connection is cut into.

    0      1         3        7                  7 + size
    +------+---------+--------+- - - - - - - - - +-------+
    | type | channel | size   | payload          | 0xCE  |      spec section 4.2.3
    +------+---------+--------+- - - - - - - - - +-------+
     octet    short     long      size octets      octet

A message is a method frame, a header frame, and as many body frames as its body needs when each
frame is ``frame_max`` octets at most (an empty body needs none).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from mqkit.wire.errors import EncodeError
from mqkit.wire.method_codec import encode_method
from mqkit.wire.methods import Method
from mqkit.wire.properties import Properties, encode_header
from mqkit.wire.spec import FRAME_END, FRAME_OVERHEAD, FrameType

FRAME_HEADER = struct.Struct(">BHL")
"""Type, channel and size of the payload."""

_END = bytes((FRAME_END,))


class Frame(NamedTuple):
    """One frame, without its end octet."""

    type: FrameType
    channel: int
    payload: bytes


def encode_frame(type: FrameType, channel: int, payload: bytes | memoryview) -> bytes:
    """A whole frame, end octet included. ``EncodeError`` for a channel above 65535."""
    try:
        return b"".join((FRAME_HEADER.pack(type, channel, len(payload)), payload, _END))
    except struct.error as error:
        raise EncodeError(f"not a channel: {channel!r:.80}") from error


HEARTBEAT_FRAME = encode_frame(FrameType.HEARTBEAT, 0, b"")


def heartbeat_frame() -> bytes:
    """The heartbeat frame; it is always the same eight octets."""
    return HEARTBEAT_FRAME


def method_frame(channel: int, method: Method) -> bytes:
    """A method as a whole frame. Raises :exc:`EncodeError` as ``encode_method`` does."""
    return encode_frame(FrameType.METHOD, channel, encode_method(method))


def header_frame(channel: int, payload: bytes | memoryview) -> bytes:
    """A content header, as ``encode_header`` made it or as it came in, as a whole frame."""
    return encode_frame(FrameType.HEADER, channel, payload)


def body_frames(channel: int, body: bytes | memoryview, frame_max: int) -> list[bytes]:
    """The body in frames of ``frame_max`` octets at most; none if it is empty."""
    step = frame_max - FRAME_OVERHEAD
    if step <= 0:
        raise EncodeError(f"no body fits frames of {frame_max} octets")
    if len(body) <= step:
        return [encode_frame(FrameType.BODY, channel, body)] if body else []
    view = memoryview(body)
    return [
        encode_frame(FrameType.BODY, channel, view[start : start + step])
        for start in range(0, len(view), step)
    ]


def content_frames(
    channel: int, method: Method, properties: Properties, body: bytes | memoryview, frame_max: int
) -> bytes:
    """A method with its content, in one piece to be written.

    Raises :exc:`EncodeError` also when the properties do not fit one frame: a content header can't
    be split, and a broker would close the connection over it.
    """
    header = encode_header(len(body), properties)
    if len(header) + FRAME_OVERHEAD > frame_max:
        raise EncodeError(
            f"the properties take {len(header)} octets; with frame_max {frame_max} "
            f"there is room for {frame_max - FRAME_OVERHEAD}"
        )
    return b"".join(
        (
            method_frame(channel, method),
            header_frame(channel, header),
            *body_frames(channel, body, frame_max),
        )
    )
