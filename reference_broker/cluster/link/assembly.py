"""Frames to messages: the parts of a large one are put together as they come."""

from __future__ import annotations

from typing import NamedTuple

from reference_broker.cluster.link.frame import CONTINUES, MORE
from reference_broker.cluster.link.frame_decoder import Frame
from reference_broker.cluster.link.lane import MESSAGE_BYTES_MAX, REPLY, Lane
from reference_broker.core.base.octet_block import OctetBlock
from reference_broker.errors import LinkError


class Message(NamedTuple):
    """A message. Its ``payload`` is a view of the read that it came in, and keeps that alive: copy
    what you keep. One larger than a frame is a block of its own, which nobody changes."""

    lane: Lane
    kind: int
    payload: memoryview


class _Part:
    """The beginning of a message."""

    __slots__ = ("kind", "octets")

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.octets = OctetBlock()


class Assembly:
    """The messages of one link that are not complete: one of each lane at most."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: dict[Lane, _Part] = {}

    @property
    def held(self) -> int:
        """Octets of the parts that are kept."""
        return sum(len(part.octets) for part in self._parts.values())

    def take(self, frame: Frame) -> Message | None:
        """The message that ``frame`` completes; ``None`` if more of it is to come.

        Raises :exc:`LinkError` for a part that continues nothing, for a message that begins within
        another, and for one above the lane's :data:`MESSAGE_BYTES_MAX`.
        """
        lane, kind, flags, payload = frame
        if not flags and (lane not in self._parts or kind & REPLY):
            return Message(lane, kind, payload[0])
        part = self._parts.get(lane)
        if bool(flags & CONTINUES) != (part is not None):
            fault = "begins within another" if part is not None else "has no beginning"
            raise LinkError(f"a message of lane {lane.name} {fault}")
        if part is None:
            part = self._parts[lane] = _Part(kind)
        if part.kind != kind:
            raise LinkError(f"a message of lane {lane.name}, kind {part.kind} goes on as {kind}")
        for octets in payload:
            part.octets.append(octets)
        if len(part.octets) > MESSAGE_BYTES_MAX[lane]:
            raise LinkError(f"a message of lane {lane.name} above {MESSAGE_BYTES_MAX[lane]} octets")
        if flags & MORE:
            return None
        del self._parts[lane]
        return Message(lane, kind, memoryview(part.octets.whole()).toreadonly())
