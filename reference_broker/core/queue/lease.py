"""Leases: a delivery is a lease that the queue holds (law 6).

A delivery tag is only a channel's alias for one. Settling a lease that is not its queue's current
one for that sequence changes nothing and is counted (:attr:`Queue.stale_settlements`): that is how
an ack after a requeue, after ``queue.delete`` or from a channel that lost its message is harmless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.queue import Queue


class Lease:
    """One hand-out of one message. Made by the queue only; objects exist only for these.

    ``number`` rises with every hand-out of the queue, so a sequence that was requeued and handed
    out again has a new lease. ``holder`` is the consumer that got it, or whatever
    :meth:`Queue.get` was given.
    """

    __slots__ = ("content", "holder", "number", "queue", "redelivered", "sequence")

    def __init__(
        self,
        queue: Queue,
        sequence: int,
        content: Content,
        redelivered: bool,
        number: int,
        holder: object,
    ) -> None:
        self.queue = queue
        self.sequence = sequence
        self.content = content
        self.redelivered = redelivered
        self.number = number
        self.holder = holder
