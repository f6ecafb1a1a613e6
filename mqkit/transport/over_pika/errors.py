"""pika's exceptions as mqkit's errors.

Pure functions. pika reports a refused login as text only (``ProbableAuthenticationError`` holds
the repr of the broker's close), so code and words are read out of that text.
"""

from __future__ import annotations

import re

from pika import exceptions as pika_errors

from mqkit.errors import (
    ChannelError,
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
)
from mqkit.transport.seam import Endpoint
from mqkit.transport.unanswered import unreachable

ACCESS_REFUSED = 403
NOT_ALLOWED = 530

_CLOSED_BY_BROKER = re.compile(r"ConnectionClosedByBroker: \((\d+)\) \\?['\"](.*?)\\?['\"]+,?\)?$")


def opening_error(
    error: BaseException, endpoint: Endpoint, timeout_s: float, *, heard: bool
) -> MqkitError:
    """The error for a connection that could not be opened; ``heard`` if the peer had said
    something."""
    if isinstance(error, MqkitError):
        return error
    if isinstance(error, pika_errors.ConnectionClosedByBroker):
        return ConnectionRefused(error.reply_code, error.reply_text)
    text = str(error.args[0]) if error.args else repr(error)
    if isinstance(
        error, pika_errors.ProbableAuthenticationError | pika_errors.ProbableAccessDeniedError
    ):
        words = _CLOSED_BY_BROKER.search(text)
        if words:
            return ConnectionRefused(int(words[1]), words[2])
        denied = isinstance(error, pika_errors.ProbableAccessDeniedError)
        return ConnectionRefused(NOT_ALLOWED if denied else ACCESS_REFUSED, text)
    address = f"{endpoint.host}:{endpoint.port}"
    if isinstance(error, pika_errors.IncompatibleProtocolError):
        # pika's name for whoever closes before a whole frame: in silence, or in another language.
        why = f"{address} was closed, or does not speak AMQP 0-9-1 ({text})"
        return unreachable(why, None, heard=heard or "SSLError(" in text)
    if "imeout" in repr(error):
        return DeadlineExceeded(f"no AMQP connection to {address} within {timeout_s:g} s")
    cause = _socket_error(error)
    innermost = error if cause is None else cause
    why = getattr(cause, "strerror", None) or str(innermost) or repr(innermost)
    return unreachable(f"no broker answers at {address}: {why}", cause, heard=heard)


def _socket_error(error: BaseException) -> OSError | None:
    """The socket's own error, out of pika's wrappers around it."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, OSError):
        nested = getattr(inner, "exceptions", None) or inner.args
        last = nested[-1] if nested else None
        inner = getattr(inner, "exception", last if isinstance(last, BaseException) else None)
    return inner


def closing_error(error: BaseException | None) -> MqkitError | None:
    """The error for a closed channel or connection; ``None`` when this program closed it."""
    if error is None or isinstance(error, MqkitError):
        return error
    if isinstance(error, pika_errors.ConnectionClosedByClient | pika_errors.ChannelClosedByClient):
        return None
    if isinstance(error, pika_errors.ConnectionClosedByBroker):
        return ConnectionRefused(error.reply_code, error.reply_text)
    if isinstance(error, pika_errors.ChannelClosedByBroker):
        return ChannelError(error.reply_code, error.reply_text)
    return ConnectionLost(f"the connection is gone: {str(error) or repr(error)}")
