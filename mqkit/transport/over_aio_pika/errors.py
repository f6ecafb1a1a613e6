"""Errors of aio-pika and of the broker, as mqkit's own.

The broker's words come from its ``close`` frames, read as they arrive: aiormq's exceptions lose the
reply code of some, and the class and method ids of all.
"""

from __future__ import annotations

import asyncio
import os

from aiormq import exceptions, spec

from mqkit.errors import (
    ChannelError,
    ConnectionLost,
    ConnectionRefused,
    MqkitError,
    TransportError,
)
from mqkit.transport.seam import Endpoint
from mqkit.transport.unanswered import unreachable

CONNECT_ERRORS = (exceptions.AMQPError, OSError, EOFError, RuntimeError, asyncio.CancelledError)
"""All that a failed ``aio_pika.connect`` was seen to raise. aiormq cancels its own tasks, and the
``CancelledError`` may reach the caller whom nobody cancelled."""


def channel_error(frame: spec.Channel.Close) -> ChannelError:
    """The error for a channel that the broker closed."""
    return ChannelError(
        frame.reply_code or 0, frame.reply_text or "", frame.class_id or 0, frame.method_id or 0
    )


def connection_error(frame: spec.Connection.Close) -> ConnectionRefused:
    """The error for a connection that the broker closed, or would not open."""
    return ConnectionRefused(
        frame.reply_code or 0, frame.reply_text or "", frame.class_id or 0, frame.method_id or 0
    )


def connect_failure(
    cause: BaseException, close: spec.Connection.Close | None, endpoint: Endpoint, *, heard: bool
) -> MqkitError:
    """The error for a connection that did not come about; ``heard`` if the peer had said
    something."""
    if close is not None:
        return connection_error(close)
    if isinstance(cause, exceptions.AuthenticationError):
        return ConnectionRefused(403, f"no common login mechanism with {endpoint}")
    text = f"no AMQP broker answers at {endpoint}: {_words(cause)}"
    # aiormq has errors of its own for those of the socket, and keeps these as their causes.
    return unreachable(text, cause.__cause__ or cause, heard=heard)


def connection_loss(cause: BaseException | None, close: spec.Connection.Close | None) -> MqkitError:
    """The error for an open connection that is gone and was not closed by this program."""
    if close is not None:
        return connection_error(close)
    return ConnectionLost(f"the connection is gone: {_words(cause)}")


def lost_channel(error: MqkitError | None) -> TransportError:
    """The error of a channel whose connection is gone; the broker's refusal becomes a lost link."""
    if isinstance(error, TransportError):
        return error
    return ConnectionLost(f"the connection is gone: {error}")


def _words(cause: BaseException | None) -> str:
    if cause is None:
        return "closed"
    if isinstance(cause, OSError) and cause.errno and cause.strerror:
        # asyncio's own text has the address once more, and not the reason.
        failed_call = cause.strerror.startswith("Connect call failed")
        return os.strerror(cause.errno) if failed_call else cause.strerror
    text = ", ".join(str(argument) for argument in cause.args if argument)
    return text or type(cause).__name__
