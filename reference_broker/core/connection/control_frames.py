"""Dispatch of all frames beside the hot path: to their channel, by its state, and to the handler of
their method.

Channel 0 carries the connection's own methods, by state (spec section 2.2.4); the others carry
everything else. A method that only a broker may send, or that this one doesn't have, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mqkit.wire import FrameType, decode_method
from mqkit.wire.methods import (
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ChannelOpenOk,
    ConnectionClose,
    ConnectionCloseOk,
    Method,
)
from reference_broker.core.base.limits import REPLY_OUTPUT_BYTES_MAX
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.connection import admission, bad_frames
from reference_broker.core.connection.connection_methods import CONNECTION_METHODS
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.core.hot_path.message_span import PUBLISH
from reference_broker.core.hot_path.publish import begin_publish, take_content_frame
from reference_broker.core.methods.basic import BASIC_METHODS
from reference_broker.core.methods.channel import CHANNEL_METHODS
from reference_broker.core.methods.exchange import EXCHANGE_METHODS
from reference_broker.core.methods.queue import QUEUE_METHODS
from reference_broker.errors import ConnectionException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.connection.connection import Connection

_METHODS: dict[type[Method], Callable[[Channel, Any], None]] = {
    **CHANNEL_METHODS,
    **EXCHANGE_METHODS,
    **QUEUE_METHODS,
    **BASIC_METHODS,
}
"""The handlers of all methods that a client may send on an open channel, without basic.publish."""

_ENDING = (ConnectionState.CLOSING, ConnectionState.LEAVING, ConnectionState.CLOSED)


def take_frame(connection: Connection, kind: int, number: int, payload: bytes) -> None:
    """Handle one frame. Raises ``AmqpError`` and ``WireError`` for what the client did wrong."""
    if connection.state in _ENDING:
        _take_last_frames(connection, kind, number, payload)
        return
    bad_frames.check_frame(kind, payload)
    if number == 0:
        _take_connection_frame(connection, kind, payload)
    else:
        if kind == FrameType.HEARTBEAT:
            raise bad_frames.misplaced(kind, payload)
        channel = connection.channels.get(number)
        if channel is None:
            _open_channel(connection, number, kind, payload)
        elif channel.state is ChannelState.OPEN:
            if connection.output_size > REPLY_OUTPUT_BYTES_MAX:
                channel.hold_back(kind, payload)
            else:
                _take_channel_frame(connection, channel, kind, payload)
        elif channel.state is ChannelState.SUSPENDED:
            channel.park(kind, payload)
        else:
            _take_last_channel_frames(connection, channel, kind, payload)


def method_ids(kind: int, payload: bytes) -> tuple[int, int]:
    """Class and method id in a method frame's payload; zeros for anything else."""
    if kind != FrameType.METHOD or len(payload) < 4:
        return 0, 0
    return int.from_bytes(payload[:2], "big"), int.from_bytes(payload[2:4], "big")


# Channel 0


def _take_connection_frame(connection: Connection, kind: int, payload: bytes) -> None:
    if kind == FrameType.HEARTBEAT:
        return
    if kind != FrameType.METHOD:
        raise bad_frames.misplaced(kind, payload)
    method = decode_method(payload)
    if isinstance(method, ConnectionClose):
        connection.close()
        return
    handler = CONNECTION_METHODS.get((connection.state, type(method)))
    if handler is None:
        raise ConnectionException(
            ReplyCode.CHANNEL_ERROR,
            f"unexpected method in connection state {connection.state.value}",
        )
    handler(connection, method)


def _take_last_frames(connection: Connection, kind: int, number: int, payload: bytes) -> None:
    """Handle a frame after a connection.close: only the answer to the broker's, or the client's
    own, counts."""
    if number or connection.state is ConnectionState.CLOSED:
        return
    ids = method_ids(kind, payload)
    if ids == (ConnectionCloseOk.CLASS_ID, ConnectionCloseOk.METHOD_ID):
        connection.close_ok()
    elif ids == (ConnectionClose.CLASS_ID, ConnectionClose.METHOD_ID):
        if connection.state is ConnectionState.LEAVING:
            connection.send(ConnectionCloseOk())
        else:
            connection.close()


# Other channels


def _open_channel(connection: Connection, number: int, kind: int, payload: bytes) -> None:
    vhost = connection.vhost
    if vhost is None or connection.state is not ConnectionState.OPEN:
        raise ConnectionException(
            ReplyCode.CHANNEL_ERROR,
            f"unexpected frame in connection state {connection.state.value}",
        )
    if kind != FrameType.METHOD:
        raise bad_frames.no_method()
    if not isinstance(decode_method(payload), ChannelOpen):
        raise ConnectionException(ReplyCode.CHANNEL_ERROR, "expected 'channel.open'")
    if not admission.may_open_channel(connection):
        return
    connection.open_channel(number, vhost).reply(ChannelOpenOk())


def _take_channel_frame(
    connection: Connection, channel: Channel, kind: int, payload: bytes
) -> None:
    if channel.assembly is not None:
        take_content_frame(channel, channel.assembly, kind, payload)
        return
    if kind != FrameType.METHOD:
        raise bad_frames.no_method()
    if payload[:4] == PUBLISH:
        begin_publish(channel, payload)
        return
    method = decode_method(payload)
    handler = _METHODS.get(type(method))
    if handler is None:
        raise _refusal(method)
    handler(channel, method)
    if channel.state is ChannelState.CLOSED:
        connection.free_channel(channel.number)


def _refusal(method: Method) -> ConnectionException:
    if isinstance(method, ChannelOpen):
        return ConnectionException(ReplyCode.CHANNEL_ERROR, "second 'channel.open' seen")
    return ConnectionException(ReplyCode.COMMAND_INVALID, "unimplemented method")


def _take_last_channel_frames(
    connection: Connection, channel: Channel, kind: int, payload: bytes
) -> None:
    """Handle a frame after the broker's channel.close: everything is ignored but its answer. A
    client that closed at the same moment gets its answer too, and still owes us ours."""
    ids = method_ids(kind, payload)
    if ids == (ChannelCloseOk.CLASS_ID, ChannelCloseOk.METHOD_ID):
        channel.close_ok()
        connection.free_channel(channel.number)
    elif ids == (ChannelClose.CLASS_ID, ChannelClose.METHOD_ID):
        channel.reply(_CLOSE_OK)
    elif ids == (ChannelOpen.CLASS_ID, ChannelOpen.METHOD_ID):
        raise ConnectionException(ReplyCode.CHANNEL_ERROR, "second 'channel.open' seen")


_CLOSE_OK = ChannelCloseOk()
