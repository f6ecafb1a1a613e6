"""Contents on their way in: which method announced them, their properties, and their bodies."""

from __future__ import annotations

import logging

from mqkit.message import Properties
from mqkit.transport.native.exact import plain_properties
from mqkit.wire import ReplyCode, WireError
from mqkit.wire.methods import BasicDeliver, BasicGetOk, BasicReturn
from mqkit.wire.properties import HEADER_PREFIX
from mqkit.wire.spec import ClassId

_LOG = logging.getLogger(__name__)

BODY_OCTETS_MAX = 512 * 1024 * 1024
"""The highest ``max_message_size`` that RabbitMQ can be given: no broker has a larger body."""


class Content:
    """One content being assembled: feed it its frames until :meth:`header` or :meth:`body` says
    that it is complete."""

    __slots__ = ("_chunks", "_missing", "header_octets", "method")

    def __init__(self, method: BasicDeliver | BasicReturn | BasicGetOk) -> None:
        self.method = method
        self.header_octets = b""
        self._chunks: list[bytes] = []
        self._missing = 0

    def header(self, payload: bytes) -> bool:
        """True when that was all: the body is empty. Raises :exc:`WireError` (501, 505)."""
        if self.header_octets:
            raise self._refusal(ReplyCode.UNEXPECTED_FRAME, "a second content header")
        if len(payload) < HEADER_PREFIX.size:
            raise self._refusal(ReplyCode.FRAME_ERROR, "content header is cut short")
        class_id, weight, size, _ = HEADER_PREFIX.unpack_from(payload)
        if class_id != ClassId.BASIC or weight:
            raise self._refusal(ReplyCode.UNEXPECTED_FRAME, f"content header of class {class_id}")
        if size > BODY_OCTETS_MAX:
            raise self._refusal(ReplyCode.FRAME_ERROR, f"a body of {size} octets")
        self.header_octets = payload
        self._missing = size
        return not size

    def body_part(self, payload: bytes) -> bool:
        """True when the body is complete. Raises :exc:`WireError` (501, 505)."""
        if not self.header_octets:
            raise self._refusal(ReplyCode.UNEXPECTED_FRAME, "a body before its content header")
        self._missing -= len(payload)
        if self._missing < 0:
            raise self._refusal(ReplyCode.FRAME_ERROR, "a body is longer than its header says")
        self._chunks.append(payload)
        return self._missing == 0

    @property
    def body(self) -> bytes:
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    def _refusal(self, code: ReplyCode, text: str) -> WireError:
        return WireError(code, text, self.method.CLASS_ID, self.method.METHOD_ID)


def properties_of(payload: bytes) -> Properties:
    """The properties in a content header's payload.

    What can't be read is left out, all of it, and logged: a message that ended the connection each
    time it is delivered would never be got rid of.
    """
    try:
        return plain_properties(payload)
    except WireError as error:
        _LOG.warning("a message's properties can't be read, and are left out: %s", error)
        return Properties(persistent=False)
