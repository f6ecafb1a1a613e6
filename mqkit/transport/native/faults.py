"""Faults of a connection as mqkit's errors. Pure."""

from __future__ import annotations

import os

from mqkit.errors import (
    ChannelError,
    ConnectionLost,
    ConnectionRefused,
    MqkitError,
    TransportError,
    Unreachable,
)
from mqkit.transport.seam import Endpoint
from mqkit.transport.unanswered import unreachable
from mqkit.wire import WireError
from mqkit.wire.methods import ChannelClose, ConnectionClose


def channel_refused(close: ChannelClose) -> ChannelError:
    """The broker closed the channel, and says why."""
    return ChannelError(close.reply_code, close.reply_text, close.class_id, close.method_id)


def connection_refused(close: ConnectionClose) -> ConnectionRefused:
    """The broker closed the connection, or would not open it, and says why."""
    return ConnectionRefused(close.reply_code, close.reply_text, close.class_id, close.method_id)


def protocol_broken(error: WireError) -> ConnectionLost:
    """The broker sent what AMQP 0-9-1 does not allow, or more than this client takes."""
    return ConnectionLost(f"the broker broke the protocol: {error}")


def lost_channel(error: MqkitError) -> TransportError:
    """The error of a channel whose connection is gone; a refusal by the broker becomes a lost
    link."""
    if isinstance(error, TransportError):
        return error
    return ConnectionLost(f"the connection is gone: {error}")


def lost(cause: BaseException | None) -> ConnectionLost:
    """The network ended an open connection."""
    return ConnectionLost(f"the connection is gone: {_words(cause)}")


def unopened(cause: BaseException | None, endpoint: Endpoint, *, heard: bool) -> Unreachable:
    """No connection came about; ``heard`` if the peer had said something of AMQP."""
    text = f"no AMQP broker answers at {endpoint}: {_words(cause)}"
    return unreachable(text, cause, heard=heard)


def foreign(endpoint: Endpoint) -> Unreachable:
    """The error for a peer that speaks another protocol than AMQP."""
    return Unreachable(f"what answers at {endpoint} does not speak AMQP")


def _words(cause: BaseException | None) -> str:
    if cause is None:
        return "closed by the other side"
    if isinstance(cause, OSError) and cause.errno and cause.strerror:
        # asyncio's own text has the address once more, and not the reason.
        failed_call = cause.strerror.startswith("Connect call failed")
        return os.strerror(cause.errno) if failed_call else cause.strerror
    return str(cause) or type(cause).__name__
