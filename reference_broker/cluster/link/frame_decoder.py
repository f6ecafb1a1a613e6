"""Bytes to frames, however the network cut them. Nothing is allocated on a peer's word.

A payload that came in one read is a view of that read; one that came in several is copied together,
once. The parts that continue a large message are left in the pieces in which they came: whoever
puts the message together copies them, and that is the one copy.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from reference_broker.cluster.link.frame import (
    CONTINUES,
    CRC_BYTES,
    FLAGS,
    FRAME_PAYLOAD_MAX,
    HEAD,
    HEAD_BYTES,
    MORE,
    crc32c,
)
from reference_broker.cluster.link.lane import REPLY, Lane
from reference_broker.errors import LinkError

GREETING_PAYLOAD_MAX = 4 * 1024
"""Octets of a frame's payload until the handshake is over: whoever sends it has proved nothing."""

_TLS_HANDSHAKE = 0x1603
"""The first octets of whoever begins with TLS, where this version expects a checksum."""

_LANES = tuple(Lane)


class Frame(NamedTuple):
    """A frame that is sound. ``payload`` is one view, unless the frame continues a message."""

    lane: Lane
    kind: int
    flags: int
    payload: tuple[memoryview, ...]


class FrameDecoder:
    """Cuts one connection's bytes into frames: hand in what arrived with :meth:`receive_data`, then
    call :meth:`next_frame` until it gives ``None``. ``payload_max`` is
    :data:`GREETING_PAYLOAD_MAX`, and control the only lane, until :meth:`open_lanes`."""

    __slots__ = ("_at", "_lanes", "_later", "_view", "buffered", "payload_max")

    def __init__(self) -> None:
        self._view = memoryview(b"")
        """The read that the next frame begins in, at ``_at``."""
        self._at = 0
        self._later: deque[memoryview] = deque()
        self._lanes = _LANES[: Lane.CONTROL + 1]
        self.payload_max = GREETING_PAYLOAD_MAX
        self.buffered = 0
        """Octets received and not handed out. Not 0 at end of stream: a frame was cut off."""

    def open_lanes(self) -> None:
        """Take frames of all lanes and sizes from now on: the peer has proved who it is, and that
        the connection is for more than control."""
        self._lanes = _LANES
        self.payload_max = FRAME_PAYLOAD_MAX

    def receive_data(self, data: bytes) -> None:
        """Take what arrived. It is kept until the messages in it are let go of."""
        if data:
            self._later.append(memoryview(data))
            self.buffered += len(data)

    def next_frame(self) -> Frame | None:
        """The next whole frame; ``None`` if more bytes are needed.

        Raises :exc:`LinkError` for bytes that are no frame, as soon as its head shows it. The next
        frame's beginning is not known after that: end the link, and don't call again.
        """
        if self.buffered < HEAD_BYTES:
            return None
        view, at = self._view, self._at
        if at + HEAD_BYTES > len(view):
            self._gather(HEAD_BYTES)
            view, at = self._view, 0
        checksum, length, number, kind, flags = HEAD.unpack_from(view, at)
        if length > self.payload_max or number >= len(self._lanes) or flags:
            self._check(checksum, length, number, kind, flags)
        stop = at + HEAD_BYTES + length
        if stop > len(view):
            if self.buffered < HEAD_BYTES + length:
                return None
            if flags & CONTINUES:
                return self._continued(length, number, kind, flags, checksum)
            self._gather(HEAD_BYTES + length)
            view, at, stop = self._view, 0, HEAD_BYTES + length
        if crc32c(view[at + CRC_BYTES : stop], 0) != checksum:
            raise self._damaged(length, number, kind)
        self._at = stop
        self.buffered -= stop - at
        return Frame(_LANES[number], kind, flags, (view[at + HEAD_BYTES : stop],))

    def _continued(self, length: int, number: int, kind: int, flags: int, checksum: int) -> Frame:
        """The frame at the front, which came in several reads, as it came."""
        parts = self._take(HEAD_BYTES + length)
        found = 0
        parts[0] = parts[0][CRC_BYTES:]
        for part in parts:
            found = crc32c(part, found)
        if found != checksum:
            raise self._damaged(length, number, kind)
        parts[0] = parts[0][HEAD_BYTES - CRC_BYTES :]
        return Frame(_LANES[number], kind, flags, tuple(parts))

    def _take(self, size: int) -> list[memoryview]:
        """Take the next ``size`` octets, in the reads in which they came."""
        parts = []
        self.buffered -= size
        while size:
            if self._at == len(self._view):
                self._view, self._at = self._later.popleft(), 0
            part = self._view[self._at : self._at + size]
            self._at += len(part)
            size -= len(part)
            parts.append(part)
        return parts

    def _gather(self, size: int) -> None:
        """Have the next ``size`` octets be in one block, at the beginning of the view."""
        if self._at == len(self._view):
            self._view, self._at = self._later.popleft(), 0
            if size <= len(self._view):
                return
        parts = self._take(size)
        if self._at < len(self._view):
            self._later.appendleft(self._view[self._at :])
        self._view = parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
        self._at = 0
        self.buffered += size

    def _check(self, checksum: int, length: int, number: int, kind: int, flags: int) -> None:
        if checksum >> 16 == _TLS_HANDSHAKE and self.payload_max == GREETING_PAYLOAD_MAX:
            raise LinkError("the other node has TLS, and this one has none: all need it, or none")
        if length > self.payload_max:
            raise LinkError(f"a frame of {length} octets, and {self.payload_max} are allowed")
        if number >= len(_LANES):
            raise LinkError(f"a frame of lane {number}, which there is not")
        lane = _LANES[number]
        if lane not in self._lanes:
            raise LinkError(f"a frame of lane {lane.name}, and only control may come")
        if flags & ~FLAGS:
            raise LinkError(f"a frame with flags {flags:#04x}, which mean nothing")
        if flags and (lane is Lane.CONTROL or kind & REPLY):
            raise LinkError(
                f"a part of a message of lane {lane.name}, kind {kind}: it has no parts"
            )
        if flags & MORE and length != FRAME_PAYLOAD_MAX:
            raise LinkError(f"a part of {length} octets that is not the last, and not full")

    @staticmethod
    def _damaged(length: int, number: int, kind: int) -> LinkError:
        lane = _LANES[number].name
        return LinkError(
            f"a frame of {length} octets (lane {lane}, kind {kind}) has a wrong checksum"
        )
