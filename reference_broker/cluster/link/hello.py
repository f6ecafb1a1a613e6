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
from enum import IntEnum, unique
from typing import NamedTuple

from reference_broker.errors import LinkError

PROTOCOL = 1
"""The highest version of the link that is spoken here, and so far the lowest."""

NONCE_BYTES = 32

TEXT_BYTES_MAX = 255

_MAGIC = b"MQKL"
_HEAD = struct.Struct(f">4sHH{NONCE_BYTES}sBHIQQ")


@unique
class Purpose(IntEnum):
    """The use of a connection between two nodes."""

    LINK = 0
    """The link itself."""
    HEARTBEATS = 1
    """The heartbeats of a link, which its nodes send on a thread of their own."""


class LinkId(NamedTuple):
    """A link, as the node at one end names it: by the node at the other, the disk and the run of
    that, and the number of the connection."""

    node: str
    disk: str
    run: int
    connection: int


class Hello(NamedTuple):
    """A node, as it introduces itself. Numbers of connections rise with each that a node dials in
    a run; who was dialled repeats the number. ``cluster``, ``disk``: ids, not names.

    ``purpose`` is that of the connection: one of heartbeats has the number of the link that they
    are for, and each purpose has its own newest connection. ``wall_ms`` is the node's wall clock,
    when it introduced itself."""

    cluster: str
    node: str
    number: int
    disk: str
    run: int
    connection: int
    address: str = ""
    lowest: int = PROTOCOL
    highest: int = PROTOCOL
    purpose: int = Purpose.LINK
    wall_ms: int = 0

    @property
    def link_id(self) -> LinkId:
        """The link that the connection with this node is, or is for."""
        return LinkId(self.node, self.disk, self.run, self.connection)

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
