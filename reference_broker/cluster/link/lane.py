"""The lanes of a link: what waits in one never holds up another.

Control goes ahead of all. The others take turns by bytes, and each has a window of its own, so that
replication goes on while publishes or deliveries wait. (What brings a new mirror up to date goes
over a connection of its own, at a rate; it is not here.)
"""

from __future__ import annotations

from enum import IntEnum, unique

from reference_broker.core.base.limits import MESSAGE_SIZE_MAX, MIB


@unique
class Lane(IntEnum):
    """A lane. The value is the frame's lane byte."""

    CONTROL = 0
    REPLICATION = 1
    PUBLISH = 2
    DELIVER = 3
    ASK = 4


@unique
class ControlKind(IntEnum):
    """Kinds of control messages that the link takes itself; those from :data:`OWNER_KINDS` up are
    its owner's."""

    HELLO = 0
    PROOF = 1
    END = 2
    HEARTBEAT = 3
    CREDIT = 4


OWNER_KINDS = 16
"""The first kind of control message that the link hands to its owner."""


@unique
class AskKind(IntEnum):
    """Kinds of messages in the lane of questions."""

    ASK = 0
    ANSWER = 1


REPLY = 0x80
"""The bit of a kind that answers what came in the same lane (that publishes are confirmed, that a
queue has moved). A reply needs no credit, goes ahead of its lane, and is in one frame. Otherwise
two nodes with full windows, each of which has to be told something before it takes more, would wait
for each other."""

CONTROL_BYTES_MAX = 64 * 1024
"""Control that waits to be sent. A socket that takes none of it for so long is as good as gone: the
link is broken on purpose."""

REPLY_BYTES_MAX = 1 * MIB
"""Replies of one lane that wait to be sent. They are cumulative, a few in a turn; more than this
and the link is broken on purpose, as for control."""

WINDOWS: dict[Lane, int] = {
    Lane.REPLICATION: 32 * MIB,
    Lane.PUBLISH: 16 * MIB,
    Lane.DELIVER: 16 * MIB,
    Lane.ASK: 8 * MIB,
}
"""Bytes of messages that the owner at the other end may be behind with. A tenth of a second of a
fast network, twice that for replication, on which confirms wait. A message may go while there is
any credit: one of 128 MiB would never fit a window, so the last one may go beyond it."""

HEAD_BYTES_MAX = 1 * MIB
"""Room for what stands around a body in a message: routes, headers, the queues that it is for."""

MESSAGE_BYTES_MAX: dict[Lane, int] = {
    Lane.CONTROL: CONTROL_BYTES_MAX,
    Lane.REPLICATION: MESSAGE_SIZE_MAX + HEAD_BYTES_MAX,
    Lane.PUBLISH: MESSAGE_SIZE_MAX + HEAD_BYTES_MAX,
    Lane.DELIVER: MESSAGE_SIZE_MAX + HEAD_BYTES_MAX,
    Lane.ASK: WINDOWS[Lane.ASK],
}
"""The largest message of each lane: what a receiver may have to hold half of."""

MESSAGE_OVERHEAD_BYTES = 256
"""Accounted for each message beside its payload, which may be empty: the objects around it."""


def cost(kind: int, payload_bytes: int) -> int:
    """Bytes of credit that a message takes, and that its receiver gives back."""
    return 0 if kind & REPLY else payload_bytes + MESSAGE_OVERHEAD_BYTES
