"""AMQP 0-9-1 frames, as far as publishes and confirms need them read. Shares nothing with mqkit's
codec, which is under test here."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_HEADER = struct.Struct(">BHI")
_CLASS_AND_METHOD = struct.Struct(">HH")
_CONTENT = struct.Struct(">HHQH")
_SHORT = struct.Struct(">H")
_LONG = struct.Struct(">I")
_LONGLONG = struct.Struct(">Q")

PROTOCOL_HEADER_OCTETS = 8
METHOD = 1
CONTENT_HEADER = 2

Method = tuple[int, int]
CONNECTION_START_OK: Method = (10, 11)
CONNECTION_CLOSE: Method = (10, 50)
CHANNEL_OPEN: Method = (20, 10)
CHANNEL_CLOSE: Method = (20, 40)
BASIC_PUBLISH: Method = (60, 40)
BASIC_RETURN: Method = (60, 50)
BASIC_ACK: Method = (60, 80)
BASIC_NACK: Method = (60, 120)
CONFIRM_SELECT: Method = (85, 10)

_HAS_CONTENT_TYPE = 1 << 15
_HAS_CONTENT_ENCODING = 1 << 14
_HAS_HEADERS = 1 << 13
_OF_ONE_OCTET = (1 << 12, 1 << 11)
_SHORT_STRINGS_BEFORE_ID = (1 << 10, 1 << 9, 1 << 8)
_HAS_MESSAGE_ID = 1 << 7

Frame = tuple[int, int, bytes]
"""Type, channel, payload."""


class FrameReader:
    """Cuts what arrives into frames. ``skip`` octets at the beginning are none: the protocol header
    of a client."""

    def __init__(self, skip: int = 0) -> None:
        self._skip = skip
        self._rest = b""

    def frames(self, octets: bytes) -> Iterator[Frame]:
        """The frames that are complete with ``octets``."""
        data = self._rest + octets if self._rest else octets
        start = min(self._skip, len(data))
        self._skip -= start
        while len(data) - start >= _HEADER.size:
            kind, channel, size = _HEADER.unpack_from(data, start)
            end = start + _HEADER.size + size + 1
            if len(data) < end:
                break
            yield kind, channel, data[start + _HEADER.size : end - 1]
            start = end
        self._rest = data[start:]


def method_of(payload: bytes) -> Method:
    """The class and method of a method frame."""
    class_id, method_id = _CLASS_AND_METHOD.unpack_from(payload)
    return class_id, method_id


def tag_of(payload: bytes) -> tuple[int, bool]:
    """The delivery tag of an ack or a nack, and whether it stands for all up to it as well."""
    (tag,) = _LONGLONG.unpack_from(payload, 4)
    return tag, bool(payload[12] & 1)


def reason_of(payload: bytes) -> tuple[int, str]:
    """The reply code and text of a close or a return."""
    (code,) = _SHORT.unpack_from(payload, 4)
    return code, payload[7 : 7 + payload[6]].decode("utf-8", "replace")


def key_of_publish(payload: bytes) -> str:
    """The routing key of a publish."""
    return _short_strings(payload, 6)[1]


def key_of_return(payload: bytes) -> str:
    """The routing key of a return."""
    return _short_strings(payload, 6)[2]


def message_id_of(payload: bytes) -> str | None:
    """The message id in a content header, ``None`` where there is none."""
    *_, flags = _CONTENT.unpack_from(payload)
    if not flags & _HAS_MESSAGE_ID:
        return None
    place = _CONTENT.size
    for flag in (_HAS_CONTENT_TYPE, _HAS_CONTENT_ENCODING):
        if flags & flag:
            place += 1 + payload[place]
    if flags & _HAS_HEADERS:
        place += 4 + int(_LONG.unpack_from(payload, place)[0])
    for flag in _OF_ONE_OCTET:
        if flags & flag:
            place += 1
    for flag in _SHORT_STRINGS_BEFORE_ID:
        if flags & flag:
            place += 1 + payload[place]
    return payload[place + 1 : place + 1 + payload[place]].decode()


def _short_strings(payload: bytes, place: int) -> list[str]:
    """The short strings from ``place`` on; what follows them is no concern."""
    found: list[str] = []
    while place < len(payload) and len(found) < 3:
        end = place + 1 + payload[place]
        found.append(payload[place + 1 : end].decode("utf-8", "replace"))
        place = end
    return found
