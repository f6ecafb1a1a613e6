"""The value of a definition in etcd: the definition as a broker on its own has it in its log, and
what only several nodes need to know of it.

    layout u8 | made at u64 | run u64 | home: size u16, name
    | spoken of u16, each: made at u64, size u16, key | the definition
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from reference_broker.errors import Corrupt

LAYOUT = 1

VALUE_BYTES_MAX = 64 * 1024
"""Of one definition: etcd takes 1.5 MiB in a transaction of a hundred."""

_HEAD = struct.Struct(">BQQ")
_SIZE = struct.Struct(">H")
_REVISION = struct.Struct(">Q")


class SharedValue(NamedTuple):
    """A definition in etcd.

    ``made_at`` is the revision that made the object, 0 in the writing that does. ``speaks_of`` are
    the keys that it needs, each with the revision that made that object: where another one has its
    place, or none, this definition is nobody's. ``home`` is the name of the node that has defined
    it, which is where a queue's messages are, and ``run`` that node's run where it goes with it.
    """

    body: bytes
    made_at: int = 0
    speaks_of: tuple[tuple[str, int], ...] = ()
    home: str = ""
    run: int = 0


def encode(value: SharedValue) -> bytes:
    """The octets in etcd."""
    parts = [_HEAD.pack(LAYOUT, value.made_at, value.run), *_sized(value.home)]
    parts.append(_SIZE.pack(len(value.speaks_of)))
    for key, made_at in value.speaks_of:
        parts += [_REVISION.pack(made_at), *_sized(key)]
    parts.append(value.body)
    return b"".join(parts)


def _sized(text: str) -> tuple[bytes, bytes]:
    octets = text.encode()
    return _SIZE.pack(len(octets)), octets


def decode(octets: bytes) -> SharedValue:
    """Raises :exc:`Corrupt`."""
    try:
        layout, made_at, run = _HEAD.unpack_from(octets)
        if layout != LAYOUT:
            raise Corrupt(f"a definition in etcd has layout {layout}; this version reads {LAYOUT}")
        home, at = _text(octets, _HEAD.size)
        (count,) = _SIZE.unpack_from(octets, at)
        at += _SIZE.size
        speaks_of = []
        for _ in range(count):
            (revision,) = _REVISION.unpack_from(octets, at)
            key, at = _text(octets, at + _REVISION.size)
            speaks_of.append((key, revision))
    except (struct.error, UnicodeDecodeError) as error:
        raise Corrupt(f"a definition in etcd can't be read: {error}") from error
    return SharedValue(octets[at:], made_at, tuple(speaks_of), home, run)


def _text(octets: bytes, at: int) -> tuple[str, int]:
    """A text, and where it ends. Raises as :func:`decode`, and :exc:`Corrupt` for one that is cut
    off."""
    (size,) = _SIZE.unpack_from(octets, at)
    start = at + _SIZE.size
    if start + size > len(octets):
        raise Corrupt("a definition in etcd is cut off")
    return octets[start : start + size].decode(), start + size
