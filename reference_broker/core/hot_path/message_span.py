"""The span of a complete message in the octets of a read: the frames of a basic.publish and its
content.

    start             header_at       header_stop             stop
    | method frame    | header payload | CE, body frame's head | body, CE |
                      8 octets before: CE of the method frame, head of the header frame

A message with an empty body ends one octet behind ``header_stop``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mqkit.wire import FRAME_END
from reference_broker.core.message.header import HEADER_FIXED_SIZE

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel

PUBLISH = b"\x00\x3c\x00\x28"
"""The first octets of the payload of a basic.publish frame: class 60, method 40."""

_METHOD = 1
_HEADER = 2
_BODY = 3
_BASIC = 60
_METHOD_HEAD = struct.Struct(">BHI4s")
_HEADER_HEAD = struct.Struct(">BHIHHQ")
_FRAME_HEAD = struct.Struct(">BHI")
_method_head = _METHOD_HEAD.unpack_from
_header_head = _HEADER_HEAD.unpack_from
_frame_head = _FRAME_HEAD.unpack_from


MessageSpan: TypeAlias = tuple[int, int, int, int]
"""``start``, ``header_at``, ``header_stop`` and ``stop``. The method's payload ends eight octets
before ``header_at``, the header's lies from there to ``header_stop``, the body (if any) from eight
octets behind that to the one before ``stop``."""


class MessageForm(NamedTuple):
    """The form of the publishes of one channel: their frame heads, and the sizes that they may
    have."""

    method: tuple[int, int, bytes]
    header: tuple[int, int, int, int]
    body: tuple[int, int]
    payload_max: int
    body_max: int


def form_of(channel: Channel) -> MessageForm:
    """The form that :func:`message_at` has to find for ``channel``: of no message that is so large
    that it has to ask for room."""
    connection = channel.connection
    number = channel.number
    return MessageForm(
        (_METHOD, number, PUBLISH),
        (_HEADER, number, _BASIC, 0),
        (_BODY, number),
        connection.payload_max,
        min(
            connection.payload_max,
            connection.message_size_max,
            channel.vhost.journal.free_space.plain_bytes,
        ),
    )


def message_at(data: bytes, position: int, end: int, form: MessageForm) -> MessageSpan | None:
    """The message that begins at ``position``, if it is complete before ``end``, well-formed, and
    has no more than one body frame."""
    if position + _METHOD_HEAD.size > end:
        return None
    method, header, body, payload_max, body_max = form
    kind, number, size, ids = _method_head(data, position)
    stop = position + 7 + size
    if (kind, number, ids) != method or size > payload_max or stop + 1 + _HEADER_HEAD.size >= end:
        return None
    kind, number, size, class_id, weight, body_size = _header_head(data, stop + 1)
    header_stop = stop + 8 + size
    after = header_stop + 9 + body_size if body_size else header_stop + 1
    if (
        (kind, number, class_id, weight) != header
        or after > end
        or not HEADER_FIXED_SIZE <= size <= payload_max
        or body_size > body_max
        or not data[stop] == data[header_stop] == data[after - 1] == FRAME_END
        or (body_size and _frame_head(data, header_stop + 1) != (*body, body_size))
    ):
        return None
    return position, stop + 8, header_stop, after
