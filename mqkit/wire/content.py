"""Joins the frames of one channel into commands: a method, and the content that follows it.

What is kept is bounded by ``max_body_size`` and by what really arrived: a declared body size
reserves nothing, and a body frame that holds more than the rest of the body is refused
(CVE-2026-67235: RabbitMQ added up without checking). Reply codes and texts are RabbitMQ's
(``rabbit_command_assembler``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mqkit.wire.errors import WireError
from mqkit.wire.frame import Frame
from mqkit.wire.method_codec import decode_method
from mqkit.wire.methods import Method
from mqkit.wire.properties import HEADER_PREFIX, Properties, decode_header
from mqkit.wire.spec import ClassId, FrameType, ReplyCode

MAX_BODY_SIZE = 16 * 1024 * 1024
"""RabbitMQ 4's ``max_message_size``. A queue is not a file store."""


@dataclass(frozen=True, slots=True)
class Command:
    """A method and, if it carries content, the content header's payload and the body.

    The header stays bytes until somebody asks: it may be passed on without being read.
    """

    method: Method
    header: bytes = b""
    body: bytes = b""

    def properties(self) -> Properties:
        """The content's properties, decoded at each call.

        Raises :exc:`WireError` for properties that can't be read. The frames around them were
        right, so a consumer may reject the message and go on.
        """
        return decode_header(self.header)[1]


class _Expecting(Enum):
    """The frame type that a channel's next frame must have. Any other one is refused."""

    METHOD = FrameType.METHOD
    HEADER = FrameType.HEADER
    BODY = FrameType.BODY


_UNEXPECTED = {
    _Expecting.METHOD: "expected method frame, got non method frame instead",
    _Expecting.HEADER: (
        f"expected content header for class {ClassId.BASIC:d}, got non content header frame instead"
    ),
    _Expecting.BODY: "expected content body, got non content body frame instead",
}


class ContentAssembler:
    """Assembles the commands of one channel.

    Feed it that channel's frames in order. Heartbeats belong to no channel: keep them away.
    """

    __slots__ = ("_body", "_expecting", "_header", "_max_body_size", "_method", "_remaining")

    def __init__(self, max_body_size: int = MAX_BODY_SIZE) -> None:
        self._max_body_size = max_body_size
        self._expecting = _Expecting.METHOD
        self._method = Method()
        self._header = b""
        self._remaining = 0
        self._body = bytearray()

    def receive(self, frame: Frame) -> Command | None:
        """The command that this frame completes; ``None`` if there is more to come.

        Raises :exc:`WireError`: 505 for a frame that does not belong here, 501 for a body larger
        than ``max_body_size`` or than its header said, and what ``decode_method`` raises. A frame
        that is refused changes nothing.
        """
        if frame.type is not self._expecting.value:
            raise self._refusal(ReplyCode.UNEXPECTED_FRAME, _UNEXPECTED[self._expecting])
        if self._expecting is _Expecting.METHOD:
            return self._receive_method(frame.payload)
        if self._expecting is _Expecting.HEADER:
            return self._receive_header(frame.payload)
        return self._receive_body(frame.payload)

    def _receive_method(self, payload: bytes) -> Command | None:
        method = decode_method(payload)
        if not method.HAS_CONTENT:
            return Command(method)
        self._method = method
        self._expecting = _Expecting.HEADER
        return None

    def _receive_header(self, payload: bytes) -> Command | None:
        if len(payload) < HEADER_PREFIX.size:
            raise self._refusal(ReplyCode.FRAME_ERROR, "content header is cut short")
        class_id, weight, body_size, _ = HEADER_PREFIX.unpack_from(payload)
        if class_id != self._method.CLASS_ID:
            text = (
                f"expected content header for class {self._method.CLASS_ID:d}, "
                f"got one for class {class_id} instead"
            )
            raise self._refusal(ReplyCode.UNEXPECTED_FRAME, text)
        if weight != 0:
            raise self._refusal(ReplyCode.UNEXPECTED_FRAME, _UNEXPECTED[_Expecting.HEADER])
        if body_size > self._max_body_size:
            text = (
                f"content body size {body_size} exceeds maximum allowed size {self._max_body_size}"
            )
            raise self._refusal(ReplyCode.FRAME_ERROR, text)
        self._header = payload
        if body_size == 0:
            return self._complete(b"")
        self._remaining = body_size
        self._expecting = _Expecting.BODY
        return None

    def _receive_body(self, payload: bytes) -> Command | None:
        size = len(payload)
        if size > self._remaining:
            text = "content body frame exceeds remaining content size"
            raise self._refusal(ReplyCode.FRAME_ERROR, text)
        if size == self._remaining and not self._body:
            return self._complete(payload)
        self._body += payload
        self._remaining -= size
        return None if self._remaining else self._complete(bytes(self._body))

    def _complete(self, body: bytes) -> Command:
        command = Command(self._method, self._header, body)
        self._expecting = _Expecting.METHOD
        self._header = b""
        self._remaining = 0
        self._body = bytearray()
        return command

    def _refusal(self, code: ReplyCode, text: str) -> WireError:
        """Names the method whose content is being read, if there is one."""
        if self._expecting is _Expecting.METHOD:
            return WireError(code, text)
        return WireError(code, text, self._method.CLASS_ID, self._method.METHOD_ID)
