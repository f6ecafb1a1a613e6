"""HELLO: the names and numbers that the nodes at the ends of a link give to each other.

::

    "MQKL" | lowest u16 | highest u16 | nonce 32 octets | purpose u8
    | node number u16 | run u32 | connection u64 | wall clock ms u64
    | cluster id | node name | disk id | link address            each: length u8, then UTF-8

Its layout is for ever: nodes that have no protocol in common must be able to say so. A later
version may append to it, and what is appended is ignored.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from reference_broker.errors import LinkError

PROTOCOL = 1
"""The highest version of the link that is spoken here, and so far the lowest."""

NONCE_BYTES = 32

TEXT_BYTES_MAX = 255

_MAGIC = b"MQKL"
_HEAD = struct.Struct(f">4sHH{NONCE_BYTES}sBHIQQ")


class Hello(NamedTuple):
    """A node, as it introduces itself. Numbers of connections rise with each that a node dials in
    a run; who was dialled repeats the number. ``cluster``, ``disk``: ids, not names.

    ``purpose`` is 0 for the link itself. Connections beside it, which don't take its place, have
    others; who was dialled refuses those that it has no use for. ``wall_ms`` is the node's wall
    clock, when it introduced itself."""

    cluster: str
    node: str
    number: int
    disk: str
    run: int
    connection: int
    address: str = ""
    lowest: int = PROTOCOL
    highest: int = PROTOCOL
    purpose: int = 0
    wall_ms: int = 0

    def encode(self, nonce: bytes) -> bytes:
        """The payload of a HELLO. ``nonce``: :data:`NONCE_BYTES` that were never used before.

        Raises :exc:`ValueError` for texts and numbers that have no room in it.
        """
        texts = [text.encode() for text in (self.cluster, self.node, self.disk, self.address)]
        if len(nonce) != NONCE_BYTES or max(map(len, texts)) > TEXT_BYTES_MAX:
            raise ValueError(f"a nonce has {NONCE_BYTES} octets, a text {TEXT_BYTES_MAX} at most")
        try:
            head = _HEAD.pack(
                _MAGIC,
                self.lowest,
                self.highest,
                nonce,
                self.purpose,
                self.number,
                self.run,
                self.connection,
                self.wall_ms,
            )
        except struct.error as error:
            raise ValueError(f"a number has no room in a HELLO: {self}") from error
        return head + b"".join(bytes([len(text)]) + text for text in texts)


def decode_hello(payload: bytes) -> Hello:
    """Raises :exc:`LinkError` for what is none."""
    if not payload.startswith(_MAGIC):
        raise LinkError("the other end speaks another protocol than mqkit's nodes")
    try:
        _, lowest, highest, _, purpose, number, run, connection, wall_ms = _HEAD.unpack_from(
            payload
        )
        texts = []
        at = _HEAD.size
        for _ in range(4):
            end = at + 1 + payload[at]
            if end > len(payload):
                raise LinkError("a HELLO that is cut off")
            texts.append(str(payload[at + 1 : end], "utf-8"))
            at = end
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise LinkError("a HELLO that can't be read") from error
    cluster, node, disk, address = texts
    return Hello(
        cluster,
        node,
        number,
        disk,
        run,
        connection,
        address,
        lowest,
        highest,
        purpose,
        wall_ms,
    )
