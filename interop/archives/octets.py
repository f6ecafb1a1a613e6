"""AMQP's content properties as octets: written with a type for each header, and taken apart again.

A header's value is ``(tag, value)``, by the tags of RabbitMQ's errata to AMQP 0-9-1, section 3. The
value of ``A`` is a list of such pairs, that of ``F`` a list of ``(name, pair)``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Tagged: TypeAlias = tuple[str, Any]
Table: TypeAlias = Sequence[tuple[str, Tagged]]

NAMES = (
    *("content_type", "content_encoding", "headers", "delivery_mode", "priority"),
    *("correlation_id", "reply_to", "expiration", "message_id", "timestamp", "type", "user_id"),
    *("app_id", "cluster_id"),
)
"""In the order of their flags, from the highest."""
HIGHEST_FLAG = 15
OCTETS, SECONDS = ("delivery_mode", "priority"), "timestamp"

FIXED = {
    **{"t": "?", "b": "b", "B": "B", "s": "h", "u": "H", "I": "i", "i": "I", "l": "q"},
    **{"f": "f", "d": "d", "T": "Q"},
}
"""Tags of values of one size, and their layouts. ``L`` is left out: RabbitMQ reads it as ``l``."""
DECIMAL = struct.Struct(">Bi")
LENGTH = struct.Struct(">I")


def encoded(properties: Mapping[str, Any], headers: bytes | None) -> bytes:
    """The property list; ``headers`` are what :func:`table` gave."""
    flags, parts = 0, []
    for place, name in enumerate(NAMES):
        value = headers if name == "headers" else properties.get(name)
        if value is not None:
            flags |= 1 << (HIGHEST_FLAG - place)
            parts.append(_property(name, value))
    return struct.pack(">H", flags) + b"".join(parts)


def table(entries: Table) -> bytes:
    """A field table with its length."""
    return counted(b"".join(entry(name, value) for name, value in entries))


def entry(name: str, value: Tagged) -> bytes:
    """One name and its value, as they stand in a table."""
    return _short(name) + _tagged(value)


def counted(octets: bytes) -> bytes:
    """With their length before them."""
    return LENGTH.pack(len(octets)) + octets


def parts_of(octets: bytes) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The properties but for the headers, and the headers, each as the octets of its value; a
    header's begin with its tag."""
    (flags,) = struct.unpack_from(">H", octets)
    at, found, headers = 2, {}, {}
    for place, name in enumerate(NAMES):
        if not flags & 1 << (HIGHEST_FLAG - place):
            continue
        end = _property_end(name, octets, at)
        if name == "headers":
            headers = _entries(octets[at + LENGTH.size : end])
        else:
            found[name] = octets[at:end]
        at = end
    return found, headers


def _property(name: str, value: Any) -> bytes:
    if name == "headers":
        return bytes(value)
    if name in OCTETS:
        return struct.pack(">B", value)
    return struct.pack(">Q", value) if name == SECONDS else _short(value)


def _property_end(name: str, octets: bytes, at: int) -> int:
    if name == "headers":
        return at + LENGTH.size + int(LENGTH.unpack_from(octets, at)[0])
    if name in OCTETS:
        return at + 1
    return at + 8 if name == SECONDS else at + 1 + octets[at]


def _short(text: str) -> bytes:
    octets = text.encode()
    return struct.pack(">B", len(octets)) + octets


def _tagged(value: Tagged) -> bytes:
    tag, plain = value
    return tag.encode() + _ENCODERS.get(tag, lambda each: struct.pack(f">{FIXED[tag]}", each))(
        plain
    )


_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "S": counted,
    "x": counted,
    "V": lambda value: b"",
    "D": lambda value: DECIMAL.pack(*value),
    "A": lambda values: counted(b"".join(map(_tagged, values))),
    "F": table,
}


def _entries(octets: bytes) -> dict[str, bytes]:
    found, at = {}, 0
    while at < len(octets):
        start = at + 1 + octets[at]
        end = _value_end(octets, start)
        found[octets[at + 1 : start].decode()] = octets[start:end]
        at = end
    return found


def _value_end(octets: bytes, at: int) -> int:
    tag, after = chr(octets[at]), at + 1
    if tag == "V":
        return after
    if tag == "D":
        return after + DECIMAL.size
    if tag in FIXED:
        return after + struct.calcsize(f">{FIXED[tag]}")
    return after + LENGTH.size + int(LENGTH.unpack_from(octets, after)[0])
