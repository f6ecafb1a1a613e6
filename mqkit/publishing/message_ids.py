"""Message ids: random UUIDs (version 4, RFC 9562) in hex, made many at a time.

``uuid4()`` asks the system for 16 octets each time, and that costs more than a message's frames.
"""

from __future__ import annotations

import os
from dataclasses import replace

from mqkit.message import Message

_AT_ONCE = 256
_OCTETS = 16
_VERSION_AT, _VARIANT_AT = 6, 8
"""The octets whose highest bits say what kind of UUID it is."""
_VERSION = bytes(octet & 0x0F | 0x40 for octet in range(256))
_VARIANT = bytes(octet & 0x3F | 0x80 for octet in range(256))

_made: list[str] = []
"""Ids made ahead. Taking one from a list is atomic: threads may."""


def new_message_id() -> str:
    """An id that nobody else has."""
    while True:
        try:
            return _made.pop()
        except IndexError:
            _made.extend(_make())


def identified(message: Message) -> Message:
    """``message``, which has no id yet, with a new one."""
    return replace(message, properties=replace(message.properties, message_id=new_message_id()))


def _make() -> list[str]:
    octets = bytearray(os.urandom(_AT_ONCE * _OCTETS))
    octets[_VERSION_AT::_OCTETS] = octets[_VERSION_AT::_OCTETS].translate(_VERSION)
    octets[_VARIANT_AT::_OCTETS] = octets[_VARIANT_AT::_OCTETS].translate(_VARIANT)
    return octets.hex(" ", _OCTETS).split()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    # A child of this process must not use the ids that its parent is going to use.
    os.register_at_fork(after_in_child=_made.clear)
