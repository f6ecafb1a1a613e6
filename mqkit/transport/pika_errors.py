"""What pika raises, as mqkit's errors; and what became of messages when a channel was closed.

Pure functions. pika reports a refused login as text only (``ProbableAuthenticationError`` holds
the repr of the broker's close), so code and words are read out of that text.
"""

from __future__ import annotations

import re
import socket

from pika import exceptions as pika_errors

from mqkit.errors import (
    ChannelError,
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    Unreachable,
)
from mqkit.message import Message
from mqkit.outcome import Outcome, Rejected, RejectReason, Unknown
from mqkit.transport.seam import Endpoint

ACCESS_REFUSED = 403
NOT_FOUND = 404
PRECONDITION_FAILED = 406
NOT_ALLOWED = 530

_CLOSED_BY_BROKER = re.compile(r"ConnectionClosedByBroker: \((\d+)\) \\?['\"](.*?)\\?['\"]+,?\)?$")
_NO_EXCHANGE = re.compile(r"no exchange '(.*?)' in vhost")
_EXCHANGE_REFUSED = re.compile(r"access to (?:exchange|topic '.*?' in exchange) '(.*?)' in vhost")
_TOO_LARGE = re.compile(r"message size \d+ is larger than (?:configured )?max size (\d+)")


def opening_error(error: BaseException, endpoint: Endpoint, timeout_s: float) -> MqkitError:
    """Why a connection could not be opened."""
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
    if isinstance(error, pika_errors.IncompatibleProtocolError):
        return Unreachable(f"{endpoint.host}:{endpoint.port} does not speak AMQP 0-9-1 ({text})")
    if "imeout" in repr(error):
        return DeadlineExceeded(
            f"no AMQP connection to {endpoint.host}:{endpoint.port} within {timeout_s:g} s"
        )
    return Unreachable(f"no broker answers at {endpoint.host}:{endpoint.port}: {_innermost(error)}")


def _innermost(error: BaseException) -> str:
    """The socket's own words, out of pika's wrappers around them."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, OSError | socket.gaierror):
        nested = getattr(inner, "exceptions", None) or inner.args
        last = nested[-1] if nested else None
        inner = getattr(inner, "exception", last if isinstance(last, BaseException) else None)
    if inner is None:
        return str(error) or repr(error)
    return inner.strerror or str(inner)


def closing_error(error: BaseException | None) -> MqkitError | None:
    """Why an open channel or connection was closed; ``None`` when this program closed it."""
    if error is None or isinstance(error, MqkitError):
        return error
    if isinstance(error, pika_errors.ConnectionClosedByClient | pika_errors.ChannelClosedByClient):
        return None
    if isinstance(error, pika_errors.ConnectionClosedByBroker):
        return ConnectionRefused(error.reply_code, error.reply_text)
    if isinstance(error, pika_errors.ChannelClosedByBroker):
        return ChannelError(error.reply_code, error.reply_text)
    return ConnectionLost(f"the connection is gone: {str(error) or repr(error)}")


def fate(message: Message, reason: MqkitError | None) -> Outcome:
    """What a message that was written, and not confirmed, came to when its channel closed.

    A broker closes the channel because of one publish, and does not say which; but where its words
    name an exchange, or a size, the messages that those words fit are refused. Of all others
    nobody knows.
    """
    message_id = message.properties.message_id
    if isinstance(reason, ChannelError):
        words = reason.reply_text
        match reason.reply_code:
            case code if code == NOT_FOUND and _names(_NO_EXCHANGE, words, message.exchange):
                return Rejected(RejectReason.NO_EXCHANGE, str(reason), message_id)
            case code if code == ACCESS_REFUSED and _names(
                _EXCHANGE_REFUSED, words, message.exchange
            ):
                return Rejected(RejectReason.REFUSED, str(reason), message_id)
            case code if code == PRECONDITION_FAILED:
                limit = _TOO_LARGE.search(words)
                if limit and len(message.body) > int(limit[1]):
                    return Rejected(RejectReason.TOO_LARGE, str(reason), message_id)
    why = "this program closed the channel" if reason is None else str(reason)
    return Unknown(f"not confirmed before the end: {why}", message_id)


def _names(pattern: re.Pattern[str], words: str, exchange: str) -> bool:
    found = pattern.search(words)
    return found is not None and found[1] == exchange
