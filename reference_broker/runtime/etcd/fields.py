"""Fields of the gateway's JSON: octets are base64, 64-bit numbers are text, and what is zero, empty
or false is left out.

Keys are text here and octets there; octets that are no UTF-8 survive both ways.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

Message = Mapping[str, Any]

_INT64 = range(-(2**63), 2**63)
_DIGITS_MAX = 20
_EVERYTHING = b"\0"
"""As the end of a range: all keys from its beginning on."""


class BadAnswer(Exception):
    """An answer that etcd would not give; the message says in one line why."""


def octets_field(octets: bytes) -> str:
    """Octets, as a field has them."""
    return base64.b64encode(octets).decode()


def key_field(key: str) -> str:
    """A key, as a field has it."""
    return octets_field(_key_octets(key))


def range_fields(prefix: str, after: str = "") -> dict[str, str]:
    """The fields ``key`` and ``range_end`` for all keys that begin with ``prefix`` and are greater
    than ``after``."""
    first = _key_octets(after) + b"\0" if after else _key_octets(prefix) or _EVERYTHING
    return {"key": octets_field(first), "range_end": octets_field(_end_of(_key_octets(prefix)))}


def integer(message: Message, name: str) -> int:
    """A 64-bit number. Raises :exc:`BadAnswer`."""
    value = message.get(name, 0)
    if isinstance(value, str) and len(value) <= _DIGITS_MAX:
        try:
            value = int(value)
        except ValueError:
            raise BadAnswer(f"{name} is no number") from None
    if type(value) is not int or value not in _INT64:
        raise BadAnswer(f"{name} is no number of 64 bits")
    return value


def octets(message: Message, name: str) -> bytes:
    """Octets. Raises :exc:`BadAnswer`."""
    value = message.get(name, "")
    if not isinstance(value, str):
        raise BadAnswer(f"{name} is no text")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise BadAnswer(f"{name} is no base64") from None


def key(message: Message, name: str) -> str:
    """A key. Raises :exc:`BadAnswer`."""
    return octets(message, name).decode(errors="surrogateescape")


def text(message: Message, name: str) -> str:
    """Text. Raises :exc:`BadAnswer`."""
    value = message.get(name, "")
    if not isinstance(value, str):
        raise BadAnswer(f"{name} is no text")
    return value


def part(message: Message, name: str) -> Message:
    """A message within ``message``. Raises :exc:`BadAnswer`."""
    value = message.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadAnswer(f"{name} is no object")
    return value


def parts(message: Message, name: str) -> list[Message]:
    """The messages of a list within ``message``. Raises :exc:`BadAnswer`."""
    value = message.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise BadAnswer(f"{name} is no list of objects")
    return value


def header_revision(message: Message) -> int:
    """The revision of the store at an answer. Raises :exc:`BadAnswer` where there is none, which
    no etcd leaves out."""
    revision = integer(part(message, "header"), "revision")
    if revision <= 0:
        raise BadAnswer("there is no revision in its header")
    return revision


def _key_octets(key: str) -> bytes:
    return key.encode(errors="surrogateescape")


def _end_of(prefix: bytes) -> bytes:
    """The least key that is greater than all that begin with ``prefix``."""
    shortened = prefix.rstrip(b"\xff")
    if not shortened:
        return _EVERYTHING
    return shortened[:-1] + bytes([shortened[-1] + 1])
