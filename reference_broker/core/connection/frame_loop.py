"""The frame loop: the bytes of one read are cut into frames, which are checked and handed to their
channel.

    0      1         3          7                    7 + size
    +------+---------+----------+- - - - - - - - - -+------+
    | type | channel | size     | payload           | 0xCE |
    +------+---------+----------+- - - - - - - - - -+------+
       u8      u16       u32                           u8

The frames of messages (basic.publish with its content, basic.ack) are taken here directly, when
their channel is open and has nothing half done; all other frames go to ``Connection.take_frame``. A
read may end anywhere: what is left over is the caller's to keep, and where it ends never changes
what comes out.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from mqkit.wire import FRAME_END, FRAME_HEADER_SIZE
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.connection import bad_frames
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.core.hot_path.ack_frames import ACK, ACK_SIZE, take_acks
from reference_broker.core.hot_path.message_span import PUBLISH
from reference_broker.core.hot_path.publish import take_publishes
from reference_broker.core.work.budget import HEARTBEAT_UNITS, METHOD_UNITS

if TYPE_CHECKING:
    from reference_broker.core.connection.connection import Connection

_FRAME_HEADER = struct.Struct(">BHI")
_METHOD = 1
_HEARTBEAT = 8
_UNITS = {_METHOD: METHOD_UNITS, _HEARTBEAT: HEARTBEAT_UNITS}


def take_frames(connection: Connection, data: bytes) -> int:
    """Handle the complete frames of ``data``, until the budget of the turn is spent; returns how
    many bytes they were. Frames behind a login that is being checked are left.

    Raises ``FrameException`` (501) where the bytes are no frame: one that is larger than the
    connection's ``payload_max`` (as soon as its head is seen), or does not end in 0xCE. Where the
    next frame would begin is not known after that.
    """
    channels = connection.channels
    unpack_from = _FRAME_HEADER.unpack_from
    opened = ChannelState.OPEN
    budget = connection.broker.budget
    end = len(data)
    last_header = end - FRAME_HEADER_SIZE
    position = 0
    while position <= last_header and budget.left > 0:
        kind, number, size = unpack_from(data, position)
        if size > connection.payload_max:
            raise bad_frames.too_large(kind, size, connection.frame_max)
        stop = position + FRAME_HEADER_SIZE + size
        if stop >= end:
            break
        if data[stop] != FRAME_END:
            payload = data[position + FRAME_HEADER_SIZE : stop]
            raise bad_frames.bad_end(kind, payload, data[stop])
        channel = channels.get(number)
        if (
            kind == _METHOD
            and channel is not None
            and channel.state is opened
            and channel.assembly is None
        ):
            ids = data[position + 7 : position + 11]
            if ids == PUBLISH:
                after = take_publishes(channel, data, position, end)
                if after != position:
                    position = after
                    continue
            elif ids == ACK and size == ACK_SIZE:
                position = take_acks(channel, data, position, end)
                continue
        payload = data[position + FRAME_HEADER_SIZE : stop]
        budget.left -= _UNITS.get(kind, 1)
        position = stop + 1
        connection.take_frame(kind, number, payload)
        if connection.state is ConnectionState.SECURING:
            break
    return position


def first_publish(data: bytes) -> int:
    """The position of the first ``basic.publish`` in ``data``, which begins with a frame; the
    length of ``data`` when there is none, or when frames can't be told apart: :func:`take_frames`
    says so then."""
    position, end = 0, len(data)
    while position + FRAME_HEADER_SIZE + len(PUBLISH) <= end:
        kind, _, size = _FRAME_HEADER.unpack_from(data, position)
        payload = position + FRAME_HEADER_SIZE
        if kind == _METHOD and data[payload : payload + len(PUBLISH)] == PUBLISH:
            return position
        position = payload + size + 1
    return end
