"""Bytes to frames, however the network cut them. Nothing is allocated on a peer's word.

A frame's size is checked as soon as its seven octets of header are there, before its payload is
waited for; the end octet is checked before the payload is handed out.
"""

from __future__ import annotations

from mqkit.wire.errors import WireError
from mqkit.wire.frame import FRAME_HEADER, Frame
from mqkit.wire.spec import (
    FRAME_END,
    FRAME_HEADER_SIZE,
    FRAME_MIN_SIZE,
    FRAME_OVERHEAD,
    FrameType,
    ReplyCode,
)

FRAME_SIZE_SLACK = FRAME_OVERHEAD
"""Some clients split bodies at ``frame_max`` and forget the eight octets around them. RabbitMQ lets
them, so this parser does: a payload may have ``frame_max`` octets, not only ``frame_max - 8``."""

_TYPES = {int(type): type for type in FrameType}
_PROTOCOL_NAME = b"AMQP"


class FrameParser:
    """Cuts one connection's bytes into frames. Starts after the protocol header.

    ``frame_max`` is 4096 until tune-ok, which is all that a peer may send before; set it to what
    was negotiated then. Hand in what arrived with :meth:`receive_data`, then call
    :meth:`next_frame` until it gives ``None``: what the parser keeps is bounded by one frame and
    one read only if the caller does.
    """

    __slots__ = ("_buffer", "_error", "_frame_max", "_offset")

    def __init__(self, frame_max: int = FRAME_MIN_SIZE) -> None:
        self.frame_max = frame_max
        self._buffer = bytearray()
        self._offset = 0
        self._error: WireError | None = None

    @property
    def frame_max(self) -> int:
        """The largest frame that the peer may send, in octets.

        Setting it below 4096 raises ``ValueError``: no peer may ask for that, and 0 ("no limit") is
        not something that this side offers.
        """
        return self._frame_max

    @frame_max.setter
    def frame_max(self, octets: int) -> None:
        if octets < FRAME_MIN_SIZE:
            raise ValueError(f"frame_max is {FRAME_MIN_SIZE} at least, not {octets}")
        self._frame_max = octets

    @property
    def buffered(self) -> int:
        """Octets received and not handed out. Not 0 at end of stream: a frame was cut off."""
        return len(self._buffer) - self._offset

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take what arrived. After a :exc:`WireError` it is thrown away."""
        if self._error is not None:
            return
        if self._offset:
            del self._buffer[: self._offset]
            self._offset = 0
        self._buffer += data

    def next_frame(self) -> Frame | None:
        """The next whole frame; ``None`` if more bytes are needed.

        Raises :exc:`WireError` (501, 505 for a heartbeat on a channel) for bytes that are not a
        frame or are a larger one than ``frame_max`` allows; calling again raises it again.
        """
        if self._error is not None:
            raise self._error
        try:
            return self._cut_frame()
        except WireError as error:
            self._error = error
            self._buffer.clear()
            self._offset = 0
            raise

    def _cut_frame(self) -> Frame | None:
        start = self._offset + FRAME_HEADER_SIZE
        if start > len(self._buffer):
            return None
        number, channel, size = FRAME_HEADER.unpack_from(self._buffer, self._offset)
        type = _TYPES.get(number)
        if type is None:
            raise self._unknown_type(number)
        if size > self._frame_max - FRAME_OVERHEAD + FRAME_SIZE_SLACK:
            raise WireError(
                ReplyCode.FRAME_ERROR,
                f"frame of {size} octets is larger than {self._frame_max - FRAME_OVERHEAD}",
            )
        if type is FrameType.HEARTBEAT and size:
            raise WireError(ReplyCode.FRAME_ERROR, f"heartbeat of {size} octets")
        if type is FrameType.HEARTBEAT and channel:
            raise WireError(ReplyCode.UNEXPECTED_FRAME, f"heartbeat on channel {channel}")
        end = start + size
        if end >= len(self._buffer):
            return None
        if self._buffer[end] != FRAME_END:
            raise WireError(ReplyCode.FRAME_ERROR, f"frame ends with {self._buffer[end]:#04x}")
        with memoryview(self._buffer) as view:
            payload = bytes(view[start:end])
        self._offset = end + 1
        return Frame(type, channel, payload)

    def _unknown_type(self, number: int) -> WireError:
        """Says what a server means that sends its protocol header: it wants another version."""
        octets = bytes(self._buffer[self._offset : self._offset + 8])
        if octets.startswith(_PROTOCOL_NAME):
            text = f"peer wants another protocol version: {octets!r}"
        else:
            text = f"no frame has type {number}; first octets: {octets!r}"
        return WireError(ReplyCode.FRAME_ERROR, text)
