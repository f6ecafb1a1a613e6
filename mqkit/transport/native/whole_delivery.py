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
from functools import lru_cache
from typing import NamedTuple

from mqkit.transport.native.delivery_run import DeliveryRun, Way
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

_SIZE_AT = 3
"""The size in the header of a frame, behind type and channel."""
_BODY_SIZE_BEHIND = 1 + FRAME_HEADER_SIZE + 4
"""The size of a body, behind the end octet of the ``basic.deliver``."""
FLAGS_AT = HEADER_PREFIX.size - 2
"""The flags in the payload of a content header: the property list is behind them."""

WAYS_MAX = 1_000
"""Ways that are remembered: a queue's messages come by a few; and a kilobyte each is a megabyte."""


class Whole(NamedTuple):
    """A delivery in ``data[start:end]``. ``header`` is the payload of its header frame."""

    way: Way
    delivery_tag: int
    redelivered: bool
    header: bytes
    body: bytes
    end: int


def consumer_of(data: bytes, start: int) -> str:
    """The consumer tag of the ``basic.deliver`` at ``start``, as far as it is there. Its first
    octets, and its frame's end, have been looked at. Octets that are no text name no consumer."""
    at = start + _CONSUMER_AT + 1
    return str(data[at : at + data[at - 1]], "utf-8", "replace")


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

    def cut_run(
        self, data: bytes, offset: int, number: int, frame_max: int
    ) -> tuple[DeliveryRun, int]:
        """The whole deliveries of channel ``number`` that follow each other from ``offset`` on, all
        for one consumer, and the offset of what is left. At ``offset`` is the frame of a
        ``basic.deliver``, whose end has been looked at. Never raises."""
        run = DeliveryRun()
        start = offset + FRAME_HEADER_SIZE
        tag_at = start + _CONSUMER_AT + 1 + data[start + _CONSUMER_AT]
        kind, consumer = data[offset : offset + _SIZE_AT], data[start:tag_at]
        while data.startswith(kind, offset) and data.startswith(consumer, start):
            stop = start + int.from_bytes(data[offset + _SIZE_AT : start], "big")
            if stop >= len(data) or data[stop] != FRAME_END:
                break
            whole = self.cut(data, start, stop, number, frame_max)
            if whole is None:
                break
            properties = whole.header[FLAGS_AT:]
            run.add(whole.way, whole.delivery_tag, whole.redelivered, properties, whole.body)
            offset = _add_alike(run, data, offset, whole, frame_max)
            start = offset + FRAME_HEADER_SIZE
        return run, offset

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


def _add_alike(run: DeliveryRun, data: bytes, offset: int, whole: Whole, frame_max: int) -> int:
    """Add the deliveries behind ``whole``, whose first frame is at ``offset``, that differ from it
    in nothing but tag, bits, body and what a property list of the same length says; returns the
    offset of what is left. Most messages of a queue do, and cost half as much so."""
    tag_at = offset + FRAME_HEADER_SIZE + _CONSUMER_AT
    tag_at += 1 + data[tag_at]
    texts_at = tag_at + _TAG_AND_BITS.size
    _, number, size = FRAME_HEADER.unpack_from(data, offset)
    stop = offset + FRAME_HEADER_SIZE + size
    head, middle = data[offset:tag_at], data[texts_at : stop + _BODY_SIZE_BEHIND]
    listed = len(whole.header) - FLAGS_AT
    frames = _alike(len(head), len(middle), listed)
    unpack, size_before_body = frames.unpack_from, frames.size
    before_body = FRAME_END << 24 | _BODY_TYPE << 16 | number
    way, offset = whole.way, whole.end
    add_way, add_tag, add_redelivered = run.ways.append, run.tags.append, run.redelivered.append
    add_properties, add_body = run.properties.append, run.bodies.append
    try:
        while True:
            first, tag, bits, second, body_size, properties, before, size = unpack(data, offset)
            if first != head or second != middle or before != before_body or size != body_size:
                break
            body_at = offset + size_before_body
            end = body_at + size
            if size > frame_max or data[end] != FRAME_END:
                break
            add_way(way)
            add_tag(tag)
            add_redelivered(bits & _REDELIVERED != 0)
            add_properties(properties)
            add_body(data[body_at:end])
            offset = end + 1
    except (struct.error, IndexError):  # cut off by the read
        pass
    return offset


@lru_cache(maxsize=64)
def _alike(head: int, middle: int, listed: int) -> struct.Struct:
    """From the first octet of a ``basic.deliver`` to that of the body: up to the tag, tag, bits,
    from the texts up to the body's size, that, flags and property list, and a frame's end and the
    next one's header."""
    return struct.Struct(f">{head}sQB{middle}sQ{listed}sII")
