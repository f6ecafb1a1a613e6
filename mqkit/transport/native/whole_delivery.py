"""A delivery that one read has brought whole: its method, its header, and its body in one frame.

Nearly every delivery comes so, and then nothing of it has to be kept until more arrives: no method
object, no content that is put together. What is anything else (cut by the read, a body of several
frames, a frame that has no place here) is left to the way of single frames, which knows what to say
of it.

    +--------+----------------+-----+--------+-----------------------+
    | 60, 60 | consumer tag   | tag | bits   | exchange, routing key |    payload of basic.deliver
    +--------+----------------+-----+--------+-----------------------+
      4        shortstr         8     1        two shortstr
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from mqkit.wire import (
    FRAME_END,
    FRAME_HEADER,
    FRAME_HEADER_SIZE,
    FrameType,
    WireError,
    decode_method,
    method_frame,
    methods,
)
from mqkit.wire.properties import HEADER_PREFIX
from mqkit.wire.spec import ClassId

DELIVER_IDS = method_frame(0, methods.BasicDeliver())[FRAME_HEADER_SIZE : FRAME_HEADER_SIZE + 4]
"""The first octets of a ``basic.deliver``."""

_CONSUMER_AT = len(DELIVER_IDS)
_TAG_AND_BITS = struct.Struct(">QB")
_REDELIVERED = 1

_HEADER = struct.Struct(FRAME_HEADER.format + "HHQ")
"""The header of a frame, and what a content header begins with: class, weight, size of the body."""

_HEADER_TYPE, _BODY_TYPE = int(FrameType.HEADER), int(FrameType.BODY)
_BASIC = int(ClassId.BASIC)

WAYS_MAX = 1_000
"""Ways that are remembered: a queue's messages come by a few; and a kilobyte each is a megabyte."""


class Way(NamedTuple):
    """The texts of a ``basic.deliver``."""

    consumer_tag: str
    exchange: str
    routing_key: str


class Whole(NamedTuple):
    """A delivery in ``data[start:end]``. ``header`` is the payload of its header frame."""

    way: Way
    delivery_tag: int
    redelivered: bool
    header: bytes
    body: bytes
    end: int


class WholeDeliveries:
    """Cuts the deliveries of one connection. Remembers the texts of ways that it has seen."""

    __slots__ = ("_ways",)

    def __init__(self) -> None:
        self._ways: dict[bytes, Way] = {}

    def cut(self, data: bytes, start: int, stop: int, number: int, frame_max: int) -> Whole | None:
        """The delivery of channel ``number`` whose method is ``data[start:stop]``; ``None`` where
        it is not there as a whole. Its frame's end, and its first octets, have been looked at.
        Never raises."""
        limit = len(data)
        tag_at = start + _CONSUMER_AT + 1 + data[start + _CONSUMER_AT]
        route_at = tag_at + _TAG_AND_BITS.size
        header_at = stop + 1
        if route_at > stop or header_at + _HEADER.size > limit:
            return None
        kind, channel, size, class_id, weight, body_size = _HEADER.unpack_from(data, header_at)
        header_at += FRAME_HEADER_SIZE
        end = header_at + size
        if kind != _HEADER_TYPE or channel != number or class_id != _BASIC or weight:
            return None
        if not HEADER_PREFIX.size <= size <= frame_max or end >= limit or data[end] != FRAME_END:
            return None
        header = data[header_at:end]
        body = b""
        end += 1
        if body_size:
            body_at = end + FRAME_HEADER_SIZE
            if body_at > limit:
                return None
            kind, channel, size = FRAME_HEADER.unpack_from(data, end)
            end = body_at + size
            if kind != _BODY_TYPE or channel != number or size != body_size:
                return None
            if size > frame_max or end >= limit or data[end] != FRAME_END:
                return None
            body = data[body_at:end]
            end += 1
        way = self._ways.get(data[start:tag_at] + data[route_at:stop])
        if way is None:
            way = self._learn(data, start, tag_at, route_at, stop)
            if way is None:
                return None
        delivery_tag, bits = _TAG_AND_BITS.unpack_from(data, tag_at)
        return Whole(way, delivery_tag, bits & _REDELIVERED != 0, header, body, end)

    def _learn(self, data: bytes, start: int, tag_at: int, route_at: int, stop: int) -> Way | None:
        try:
            method = decode_method(data[start:stop])
        except WireError:
            return None
        assert isinstance(method, methods.BasicDeliver)
        if len(self._ways) >= WAYS_MAX:
            self._ways.clear()
        way = Way(method.consumer_tag, method.exchange, method.routing_key)
        self._ways[data[start:tag_at] + data[route_at:stop]] = way
        return way
