"""Faults in a broker's confirms: what becomes of the octets for a client. Pure.

Confirms are counted as publishes are: a confirm of several (``multiple``) is cut where a fault is
due, and the others in it arrive as they were meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from mqkit.wire import FRAME_END, FRAME_HEADER, FRAME_HEADER_SIZE, FrameType, method_frame
from mqkit.wire.methods import BasicAck, BasicNack

_ACK = BasicAck.CLASS_ID << 16 | BasicAck.METHOD_ID
_NACK = BasicNack.CLASS_ID << 16 | BasicNack.METHOD_ID


class ConfirmFault(StrEnum):
    """The fate of one confirm."""

    DROP_BEFORE = "the connection is dropped in place of it"
    DROP_AFTER = "the connection is dropped behind it"
    NACK = "it is a nack"


@dataclass(slots=True, eq=False)
class ArmedFault:
    """A fault of one confirm that is to come, or has come."""

    fault: ConfirmFault
    has_struck: bool = False
    """True once a client has had it in place of what the broker said."""


class ConfirmFaults:
    """The faults that are still to come. ``settled`` has the publishes that were confirmed before,
    by connection and channel."""

    def __init__(self) -> None:
        self._armed: dict[int, ArmedFault] = {}
        self._settled: dict[tuple[int, int], int] = {}
        self._seen = 0

    def __bool__(self) -> bool:
        """True while a fault is to come."""
        return bool(self._armed)

    def arm(
        self, publish: int, fault: ConfirmFault, settled: dict[tuple[int, int], int]
    ) -> ArmedFault:
        """Have ``fault`` befall the confirm number ``publish`` from now on."""
        if not self._armed:
            self._settled, self._seen = settled, 0
        armed = self._armed[self._seen + publish] = ArmedFault(fault)
        return armed

    def applied(self, connection: int, octets: bytes) -> tuple[bytes, bool]:
        """The octets of whole frames that go to a client in place of ``octets``; and true where its
        connection is to be dropped behind them."""
        out: list[bytes] = []
        for channel, frame in _frames(octets):
            tags = self._tags(connection, channel, frame)
            if not any(self._seen + place in self._armed for place in range(1, len(tags) + 1)):
                self._seen += len(tags)
                out.append(frame)
            elif not self._split(channel, tags, out):
                return b"".join(out), True
        return b"".join(out), False

    def _split(self, channel: int, tags: range, out: list[bytes]) -> bool:
        """Write the confirms of ``tags``, one of which has a fault. False where nothing is to
        follow them."""
        first = tags.start
        for tag in tags:
            self._seen += 1
            armed = self._armed.pop(self._seen, None)
            if armed is None:
                continue
            armed.has_struck = True
            fault = armed.fault
            last = tag if fault is ConfirmFault.DROP_AFTER else tag - 1
            out.append(_ack(channel, first, last))
            if fault is not ConfirmFault.NACK:
                return False
            out.append(method_frame(channel, BasicNack(delivery_tag=tag)))
            first = tag + 1
        out.append(_ack(channel, first, tags.stop - 1))
        return True

    def _tags(self, connection: int, channel: int, frame: bytes) -> range:
        """The publishes that a frame confirms; none where it is another frame."""
        ids = int.from_bytes(frame[FRAME_HEADER_SIZE : FRAME_HEADER_SIZE + 4], "big")
        if frame[0] != FrameType.METHOD or ids not in (_ACK, _NACK):
            return range(0)
        tag = int.from_bytes(frame[FRAME_HEADER_SIZE + 4 : FRAME_HEADER_SIZE + 12], "big")
        settled = self._settled.get((connection, channel), 0)
        self._settled[connection, channel] = max(settled, tag)
        multiple = frame[FRAME_HEADER_SIZE + 12] & 1
        return range(settled + 1 if multiple else tag, tag + 1)


def _frames(octets: bytes) -> Iterator[tuple[int, bytes]]:
    """The channel and the octets of each frame."""
    start = 0
    while start < len(octets):
        _, channel, size = FRAME_HEADER.unpack_from(octets, start)
        end = start + FRAME_HEADER_SIZE + size + 1
        assert octets[end - 1] == FRAME_END, "a broker's output is whole frames"
        yield channel, octets[start:end]
        start = end


def _ack(channel: int, first: int, last: int) -> bytes:
    if last < first:
        return b""
    return method_frame(channel, BasicAck(delivery_tag=last, multiple=last > first))
