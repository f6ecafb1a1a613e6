"""basic.ack, as most consumers send it: one frame for each message, many in a read.

+------+---------+----+----+----+--------------+------+------+
| 0x01 | channel | 13 | 60 | 80 | delivery tag | bits | 0xCE |      bit 0 of the bits: multiple
+------+---------+----+----+----+--------------+------+------+
   u8      u16    u32  u16  u16       u64         u8
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from mqkit.wire import FRAME_END
from reference_broker.core.channel.settlement import ack, ack_each
from reference_broker.errors import ChannelException

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel

ACK = b"\x00\x3c\x00\x50"
"""The first octets of the payload of a basic.ack frame: class 60, method 80."""

ACK_SIZE = 13
"""Octets of the payload of a basic.ack frame."""

ACKS_AT_ONCE = 1_024
"""Acks that are handled before the budget is looked at again."""

ACKS_PER_UNIT = 2
"""Acks that cost as much as one message."""

_ACK_IDS = (60, 80)
_HEAD_SIZE = 11
_REST = struct.Struct(">QBB")
_rest_of = _REST.unpack_from


def take_acks(channel: Channel, data: bytes, position: int, end: int) -> int:
    """Handle the acks of ``channel`` that stand one after another in ``data`` from ``position``,
    where the caller has found a complete one. Returns where to go on."""
    head = data[position : position + _HEAD_SIZE]
    last = end - _HEAD_SIZE - _REST.size
    tags: list[int] = []
    multiple = False
    while (
        position <= last
        and not multiple
        and len(tags) < ACKS_AT_ONCE
        and data.startswith(head, position)
    ):
        tag, bits, frame_end = _rest_of(data, position + _HEAD_SIZE)
        if frame_end != FRAME_END:
            break
        position += _HEAD_SIZE + _REST.size
        tags.append(tag)
        multiple = bits & 1 == 1
    channel.broker.budget.left -= 1 + len(tags) // ACKS_PER_UNIT
    try:
        if multiple:
            ack_each(channel, tags[:-1])
            ack(channel, tags[-1], True)
        else:
            ack_each(channel, tags)
    except ChannelException as error:
        channel.connection.refuse(channel, error, *_ACK_IDS)
    return position
