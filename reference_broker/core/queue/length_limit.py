"""A queue's length limit, and what it does with one message too many.

The law: only ready messages count, by number and by body bytes (rabbitmq.com/docs/maxlength), and
waiting consumers are served before anything is dropped or refused, and what is overdue at the head
has gone (a TTL of 0 is over at once). Drop-head takes the new message
in and then drops from the head; the reject variants look first, and refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.arguments.queue_arguments import Overflow, QueueArguments
from reference_broker.core.queue.death import Death, DeathReason
from reference_broker.core.queue.rest import settle_down, until_rest
from reference_broker.core.work.until import NotYet

if TYPE_CHECKING:
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.queue import Queue


EXCESS_MAX = 1_000
"""Messages beyond its limit that a queue takes in before their publisher waits: they are dropped at
the queue's next dispatch, and dead letters may make that a later one."""


EXCESS_BYTES_MAX = 64 * 1024
"""Body bytes beyond its limit, for the same."""


class LengthLimit:
    """``x-max-length`` and ``x-max-length-bytes`` with ``x-overflow``; ``None`` is unlimited."""

    __slots__ = ("_max_bytes", "_max_length", "_overflow")

    def __init__(self, max_length: int | None, max_bytes: int | None, overflow: Overflow) -> None:
        self._max_length = max_length
        self._max_bytes = max_bytes
        self._overflow = overflow

    @classmethod
    def of(cls, limits: QueueArguments) -> LengthLimit | None:
        """The limit that the arguments ask for, if they ask for one."""
        if limits.max_length is None and limits.max_length_bytes is None:
            return None
        return cls(limits.max_length, limits.max_length_bytes, limits.overflow)

    @staticmethod
    def differ(one: QueueArguments, other: QueueArguments) -> bool:
        """True when the two ask for different limits."""
        return (one.max_length, one.max_length_bytes, one.overflow) != (
            other.max_length,
            other.max_length_bytes,
            other.overflow,
        )

    def require_rest(self, queue: Queue) -> None:
        """Have waiting consumers served and what is overdue go, before a publish that might be
        refused or push something out for want of that. Raises :exc:`NotYet` where that takes
        more than this turn, or the queue is far beyond its limit already."""
        if not self._exceeded(queue, 1, 0):
            return
        if self._overflow is Overflow.DROP_HEAD:
            if self._is_far_beyond(queue) and not settle_down(queue):
                raise NotYet(until_rest(queue))
        elif queue.returning or not settle_down(queue):
            raise NotYet(until_rest(queue))

    def refuses_publish(self, queue: Queue, content: Content) -> bool:
        """:meth:`refuses`, after :meth:`require_rest`."""
        self.require_rest(queue)
        return self.refuses(queue, content)

    def refuses(self, queue: Queue, content: Content) -> bool:
        """Is this publish to be refused? Then it was counted, and dead-lettered if so configured.

        The publisher gets a nack. Never true for drop-head, but what is overdue goes here too:
        :meth:`enforce_after_publish` would have it die of the limit.
        """
        size = len(content.body)
        if not self._exceeded(queue, 1, size):
            return False
        if self._overflow is Overflow.DROP_HEAD:
            if queue.expiry.watching:
                settle_down(queue)
            return False
        if _lets_go(queue) and not self._exceeded(queue, 1, size):
            return False
        queue.refused += 1
        if (
            self._overflow is Overflow.REJECT_PUBLISH_DLX
            and queue.limits.dead_letter_exchange is not None
        ):
            queue.env.dead_letters.refused(Death(queue, -1, content, DeathReason.MAXLEN))
        return True

    def has_room(self, queue: Queue, size: int) -> bool:
        """May a body of ``size`` bytes come in with nothing refused or dropped for it?"""
        if not self._exceeded(queue, 1, size):
            return True
        return _lets_go(queue) and not self._exceeded(queue, 1, size)

    def enforce_after_publish(self, queue: Queue) -> None:
        """Drop-head: let consumers have what they can take, then drop what is over the limit. Where
        it becomes dead letters, both are done when the queue is dispatched."""
        if (
            self._overflow is Overflow.DROP_HEAD
            and queue.limits.dead_letter_exchange is None
            and self._exceeded(queue, 0, 0)
        ):
            if queue.consumers:
                settle_down(queue)
            if not queue.returning:
                self.enforce(queue)

    def pushes_out(self, queue: Queue) -> bool:
        """True when a dead letter that came just now pushes another one out."""
        return self._overflow is Overflow.DROP_HEAD and self._exceeded(queue, 0, 0)

    def enforce(self, queue: Queue) -> bool:
        """Drop from the head until the queue is within its limit; nothing unless drop-head. A dead
        letter that has to be read first ends it: it goes on when that is here. False when more is
        to be dropped than may be now."""
        if self._overflow is not Overflow.DROP_HEAD:
            return True
        budget = queue.env.budget
        while self._exceeded(queue, 0, 0):
            if queue.is_overtaken():
                return False
            index = queue.head_index()
            assert index is not None
            if not queue.drop_head(index, DeathReason.MAXLEN):
                return True
            budget.left -= 1
            queue.dropped += 1
        return True

    def _is_far_beyond(self, queue: Queue) -> bool:
        if self._max_length is not None and queue.ready > self._max_length + EXCESS_MAX:
            return True
        most = self._max_bytes
        return most is not None and queue.ready_bytes > most + EXCESS_BYTES_MAX

    def _exceeded(self, queue: Queue, more: int, more_bytes: int) -> bool:
        if self._max_length is not None and queue.ready + more > self._max_length:
            return True
        return self._max_bytes is not None and queue.ready_bytes + more_bytes > self._max_bytes


def _lets_go(queue: Queue) -> bool:
    """Have ``queue`` give its consumers what they take, and drop what is overdue, where there may
    be any of either."""
    if not (queue.consumers or queue.expiry.watching):
        return False
    settle_down(queue)
    return True
