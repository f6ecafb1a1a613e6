"""The errors for a malformed frame, and for one that has no place where it came, in RabbitMQ's
words (rabbit_reader's frame errors).

    type 4, all octets = <<"abc">>: unknown_frame
    type 3, first 16 octets = <<"xxxxxxxxxxxxxxxx">>: {invalid_frame_end_marker,65}
"""

from __future__ import annotations

from mqkit.wire import FRAME_OVERHEAD, FrameType, MalformedText, WireError
from reference_broker.core.base.field_value import erlang_term
from reference_broker.core.message.header import HEADER_FIXED_SIZE
from reference_broker.errors import AmqpError, ConnectionException, FrameException, ReplyCode

SHOWN_OCTETS = 16
"""Octets of a payload that a text shows: enough to see what the client thought it sent."""

METHOD_IDS_SIZE = 4
"""Class id and method id: the least that a method frame has."""


def check_frame(kind: int, payload: bytes) -> None:
    """Raises :exc:`FrameException` (501) for a frame of no known type, or with a payload that no
    frame of its type has, on whichever channel."""
    if not _is_known(kind, payload):
        raise FrameException(ReplyCode.FRAME_ERROR, f"{_shown(kind, payload)}: unknown_frame")


def _is_known(kind: int, payload: bytes) -> bool:
    match kind:
        case FrameType.METHOD:
            return len(payload) >= METHOD_IDS_SIZE
        case FrameType.HEADER:
            return len(payload) >= HEADER_FIXED_SIZE
        case FrameType.BODY:
            return True
        case FrameType.HEARTBEAT:
            return not payload
    return False


def misplaced(kind: int, payload: bytes) -> FrameException:
    """The error for content on channel 0, or a heartbeat on another one."""
    return FrameException(ReplyCode.UNEXPECTED_FRAME, _shown(kind, payload))


def no_method() -> FrameException:
    """The error for content that follows no method."""
    return FrameException(
        ReplyCode.UNEXPECTED_FRAME, "expected method frame, got non method frame instead"
    )


def too_large(kind: int, size: int, frame_max: int) -> FrameException:
    """The error for a frame that is too large, by its head, before any of its payload is waited
    for. The text names what a payload should have at most; eight octets more are let pass."""
    limit = frame_max - FRAME_OVERHEAD
    return FrameException(
        ReplyCode.FRAME_ERROR, f"{_shown(kind, b'')}: {{frame_too_large,{size},{limit}}}"
    )


def bad_end(kind: int, payload: bytes, octet: int) -> FrameException:
    """The error for a payload that is not followed by the end octet."""
    return FrameException(
        ReplyCode.FRAME_ERROR, f"{_shown(kind, payload)}: {{invalid_frame_end_marker,{octet}}}"
    )


def _shown(kind: int, payload: bytes) -> str:
    which = "all" if len(payload) <= SHOWN_OCTETS else f"first {SHOWN_OCTETS}"
    return f"type {kind}, {which} octets = {erlang_term(payload[:SHOWN_OCTETS])}"


def amqp_error(error: AmqpError | WireError, class_id: int, method_id: int) -> AmqpError:
    """The error to answer a mistake of the client with, in the method that has these ids; the
    error's own go first. A :exc:`FrameException` has none (RabbitMQ)."""
    if isinstance(error, MalformedText):
        error = FrameException(error.reply_code, error.text)
    elif isinstance(error, WireError):
        error = ConnectionException(error.reply_code, error.text)
    if not error.method_id and not isinstance(error, FrameException):
        error.class_id, error.method_id = class_id, method_id
    return error
