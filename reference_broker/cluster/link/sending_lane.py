"""One lane at its sender: messages in order, each as soon as there is credit for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from reference_broker.cluster.link.credit import SendingCredit
from reference_broker.cluster.link.frame import (
    FRAME_PAYLOAD_MAX,
    HEAD_BYTES,
    MORE,
    Buffer,
    Piece,
    cut,
    frame_head,
)
from reference_broker.cluster.link.lane import (
    MESSAGE_BYTES_MAX,
    MESSAGE_OVERHEAD_BYTES,
    REPLY,
    REPLY_BYTES_MAX,
    Lane,
    cost,
)
from reference_broker.core.base.limits import MIB
from reference_broker.core.work.until import Until
from reference_broker.errors import LinkError

WAITING_BYTES_MAX = 4 * MIB
"""Bytes of messages that may wait in a lane before its owner has to: what is sent in a few turns.
What waits for longer waits with whoever made it, who can still change his mind. (One message may
go over it by its size.)"""

JOINED_BYTES = 4 * 1024
"""Buffers that are smaller than this on the average are joined first: a copy of so little costs
less than a checksum that begins anew, and a place in the list that the socket is given."""


class Outgoing(NamedTuple):
    """A message that waits to be sent."""

    kind: int
    buffers: Sequence[Buffer]
    size: int


class _Unfinished:
    """A message of which a part was sent."""

    __slots__ = ("kind", "left", "pieces")

    def __init__(self, message: Outgoing) -> None:
        self.kind = message.kind
        self.left = message.size
        self.pieces = cut(message.buffers, message.size)


class SendingLane:
    """The messages of one lane that wait. Replies (:data:`REPLY`) go ahead, and need no credit."""

    __slots__ = (
        "_messages",
        "_replies",
        "_reply_bytes",
        "_unfinished",
        "_was_stalled",
        "credit",
        "lane",
        "room_comes",
        "waiting",
    )

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.credit = SendingCredit(lane)
        self._messages: deque[Outgoing] = deque()
        self._replies: deque[Outgoing] = deque()
        self._reply_bytes = 0
        self._unfinished: _Unfinished | None = None
        self._was_stalled = False
        """A wait for credit has begun, and has not ended since."""
        self.waiting = 0
        """Accounted bytes of messages that wait, replies not counted."""
        self.room_comes = Until()

    @property
    def room(self) -> int:
        """Bytes that may still be put here; 0 or below: wait for ``room_comes``."""
        return WAITING_BYTES_MAX - self.waiting

    @property
    def is_stalled(self) -> bool:
        """True while a message waits for credit, and for nothing else."""
        return bool(self._messages) and not self.next_frame_bytes

    def begins_to_stall(self) -> bool:
        """True once for each wait for credit: to be asked when the lane has no frame to send."""
        if self._was_stalled or not self._messages:
            return False
        self._was_stalled = True
        return True

    def give_credit(self, consumed: int) -> None:
        """See :meth:`SendingCredit.give`."""
        self.credit.give(consumed)
        if self.credit.left > 0:
            self._was_stalled = False

    def put(self, message: Outgoing) -> None:
        """Have ``message`` wait. Ask ``room`` first, unless it is a reply.

        Raises :exc:`LinkError` when more replies wait than can be: the link is to be broken.
        """
        if message.kind & REPLY:
            if message.size > FRAME_PAYLOAD_MAX:
                raise AssertionError(f"a reply of {message.size} octets is more than a frame")
            self._reply_bytes += message.size + MESSAGE_OVERHEAD_BYTES
            if self._reply_bytes > REPLY_BYTES_MAX:
                raise LinkError(f"replies of lane {self.lane.name} wait for a socket that is stuck")
            self._replies.append(message)
            return
        if self.room <= 0:
            raise AssertionError(f"lane {self.lane.name} has no room, and was not asked")
        if message.size > MESSAGE_BYTES_MAX[self.lane]:
            raise AssertionError(f"{message.size} octets are too many for lane {self.lane.name}")
        self._messages.append(message)
        self.waiting += cost(message.kind, message.size)

    @property
    def next_frame_bytes(self) -> int:
        """The size of the frame that :meth:`take_frame` gives now; 0 if there is none."""
        if self._replies:
            return HEAD_BYTES + self._replies[0].size
        if self._unfinished is not None:
            return HEAD_BYTES + min(self._unfinished.left, FRAME_PAYLOAD_MAX)
        if self._messages and self.credit.left > 0:
            return HEAD_BYTES + min(self._messages[0].size, FRAME_PAYLOAD_MAX)
        return 0

    def take_frame(self, output: list[Buffer]) -> None:
        """Append the next frame to ``output``. There must be one."""
        if self._replies:
            kind, buffers, size = self._replies.popleft()
            self._reply_bytes -= size + MESSAGE_OVERHEAD_BYTES
            self._append(output, kind, Piece(buffers, size, 0))
            return
        if self._unfinished is None:
            message = self._messages.popleft()
            self.credit.spend(cost(message.kind, message.size))
            if message.size <= FRAME_PAYLOAD_MAX:
                self.waiting -= cost(message.kind, message.size)
                self._append(output, message.kind, Piece(message.buffers, message.size, 0))
                return
            self._unfinished = _Unfinished(message)
        self._continue(self._unfinished, output)

    def _continue(self, unfinished: _Unfinished, output: list[Buffer]) -> None:
        piece = next(unfinished.pieces)
        unfinished.left -= piece.length
        self.waiting -= piece.length
        if not piece.flags & MORE:
            self._unfinished = None
            self.waiting -= cost(unfinished.kind, 0)
        self._append(output, unfinished.kind, piece)

    def _append(self, output: list[Buffer], kind: int, piece: Piece) -> None:
        buffers, length, flags = piece
        if len(buffers) > 2 and length < len(buffers) * JOINED_BYTES:
            piece = Piece((b"".join(buffers),), length, flags)
        output.append(frame_head(self.lane, kind, piece))
        output += piece.buffers
