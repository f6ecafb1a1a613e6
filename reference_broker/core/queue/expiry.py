"""Time and queues: messages that expire at the head, and queues that expire unused.

The law: a message expires only when it is at the head (rabbitmq.com/docs/ttl), so a queue watches
one deadline, that of its head, however many messages wait behind it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.queue.death import DeathReason
from reference_broker.core.queue.rest import settle_down

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.queue import Queue


def expires_at_ms(wall_ms: int, queue_ttl_ms: int | None, message_ttl_ms: int | None) -> int:
    """When a message published at ``wall_ms`` expires: the shorter of the two, 0 for never."""
    if queue_ttl_ms is None:
        return 0 if message_ttl_ms is None else wall_ms + message_ttl_ms
    if message_ttl_ms is None or queue_ttl_ms < message_ttl_ms:
        return wall_ms + queue_ttl_ms
    return wall_ms + message_ttl_ms


class Expiry(Protocol):
    """Expiry of the messages of a queue. It is asked only about messages that have a time: their
    own expiration, or the queue's message TTL."""

    wants_all: bool
    """The queue takes a message only if every other queue that it is for takes it too."""
    watching: bool
    """There may be something to do with time. Cheap to ask, before every delivery."""

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of what is kept for each message beside the queue's index."""
        ...

    def discards_new(self) -> bool:
        """Is the next message gone at once, stored nowhere? Then it was counted. Asked only where
        the queue's message TTL is 0."""
        ...

    def stamp(self, content: Content, facts: HeaderFacts, sequence: int) -> int:
        """The wall ms that the entry of a new message is to have, 0 for none. It is going to be
        appended with ``sequence``."""
        ...

    def restored(self) -> None:
        """Recovery: the queue has its messages."""
        ...

    def may_have_left(self, sequence: int, content: Content) -> bool:
        """Of a message that was in the queue at an unclean stop, and leaves it now: may it have
        left before that, too?"""
        ...

    def drop_overdue(self) -> bool:
        """Before a delivery. False when more is overdue than may be dropped now: nothing may be
        handed out, and the queue is dispatched again."""
        ...

    def drop_due(self) -> bool:
        """After a round. False when there is more to be dropped than may be now."""
        ...

    def cancel(self) -> None:
        """The queue is deleted."""
        ...


class _Stop(Enum):
    """The ends of a round of dropping."""

    NOTHING_DUE = auto()
    ABSENT = auto()
    """The head is a dead letter that has to be read first: the queue is dispatched again then."""
    OVERTAKEN = auto()
    """The budget is spent, or something urgent goes first."""


class MessageExpiry:
    """Expiry at the head of one queue.

    ``watching`` is true while an entry with an expiry may be ready; whoever makes one ready sets
    it, and :meth:`drop_due` clears it when the queue is found empty.
    """

    __slots__ = ("_deadline", "_queue", "watching")
    wants_all = False
    memory_bytes = 0

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._deadline: Deadline | None = None
        self.watching = False

    def discards_new(self) -> bool:
        """ "Now or never" is never where older messages wait (a policy brought the TTL): nobody
        wants them, so nobody wants this one. RabbitMQ says so before the length limit looks, which
        would drop an old one for it. A dead letter is to be, and a quorum queue keeps it until it
        is the head (rabbit_amqqueue_process:deliver_or_enqueue, rabbit_fifo)."""
        queue = self._queue
        limits = queue.limits
        if limits.dead_letter_exchange is not None or limits.queue_type is not QueueType.CLASSIC:
            return False
        if queue.ready:
            settle_down(queue)  # the publisher has seen to it that this gets to its end
        # What has to be read first may be wanted.
        if not queue.ready or (queue.backlog.absent and queue.consumers):
            return False
        queue.published += 1
        queue.expired += 1
        queue.env.dead_letters.dropped(queue, DeathReason.EXPIRED)
        return True

    def stamp(self, content: Content, facts: HeaderFacts, sequence: int) -> int:
        queue = self._queue
        ttl_ms = queue.limits.message_ttl_ms
        self.watching = True
        return expires_at_ms(queue.env.moment.wall_ms, ttl_ms, facts.expiration_ms)

    def restored(self) -> None:
        if any(index.has_expiries for index in self._queue.indexes()):
            self.watching = True

    def may_have_left(self, sequence: int, content: Content) -> bool:
        """True: whoever was handed it may have rejected it."""
        return True

    def drop_overdue(self) -> bool:
        """Before a delivery: the head must not be one whose time was over before this instant.

        A TTL of 0 says "now or never", so a message whose time ends at this very instant may
        still be delivered; :meth:`drop_due` takes it if nobody wanted it. One that has come back
        was delivered already, and its instant is over, however short ago that was.
        """
        now_ms = self._queue.env.moment.wall_ms
        return self._drop_before(now_ms, now_ms + 1) is not _Stop.OVERTAKEN

    def drop_due(self) -> bool:
        """After a round: drop what has reached its time, and watch the head that is left."""
        end_ms = self._queue.env.moment.wall_ms + 1
        stop = self._drop_before(end_ms, end_ms)
        if stop is _Stop.NOTHING_DUE:
            self._watch_head()
        return stop is not _Stop.OVERTAKEN

    def cancel(self) -> None:
        """The queue is deleted."""
        self.watching = False
        if self._deadline is not None:
            self._deadline.cancel()

    def _drop_before(self, end_ms: int, redelivered_end_ms: int) -> _Stop:
        """``end_ms`` is for messages that were never handed out, and not the later one."""
        queue = self._queue
        budget = queue.env.budget
        while (index := queue.head_index()) is not None:
            when_ms = index.head_expires_at()
            if not when_ms or when_ms >= redelivered_end_ms:
                break
            if when_ms >= end_ms and not index.head_is_redelivered():
                break
            if queue.is_overtaken():
                return _Stop.OVERTAKEN
            if not queue.drop_head(index, DeathReason.EXPIRED):
                return _Stop.ABSENT
            budget.left -= 1
            queue.expired += 1
        return _Stop.NOTHING_DUE

    def _watch_head(self) -> None:
        index = self._queue.head_index()
        when_ms = None if index is None else index.head_expires_at()
        if when_ms is None:
            self.watching = False
        if not when_ms:
            return
        deadline = self._deadline
        if deadline is not None and deadline.pending:
            if deadline.when_ms <= when_ms:
                return  # it comes early, finds this head, and is set again
            deadline.cancel()
        self._deadline = self._queue.env.deadlines.at(when_ms, self._time_has_come)

    def _time_has_come(self) -> None:
        self._queue.env.mark_dirty(self._queue)


class UnusedExpiry:
    """``x-expires``: the queue goes after this long without consumers, get or redeclaration."""

    __slots__ = ("_deadline", "_expires_ms", "_queue", "_used_ms")

    def __init__(self, queue: Queue, expires_ms: int) -> None:
        self._queue = queue
        self._expires_ms = expires_ms
        self._used_ms = queue.env.moment.wall_ms
        self._deadline = self._arm()

    @classmethod
    def of(cls, queue: Queue) -> UnusedExpiry | None:
        """The expiry that the limits of ``queue`` ask for, if they ask for one."""
        expires_ms = queue.limits.expires_ms
        return None if expires_ms is None else cls(queue, expires_ms)

    def touch(self) -> None:
        """Used now. The deadline stays where it is, and is set again when it comes."""
        self._used_ms = self._queue.env.moment.wall_ms

    def is_over(self) -> bool:
        """True from that time on, even where the deadline has to wait for its turn."""
        now_ms = self._queue.env.moment.wall_ms
        return self._used_ms + self._expires_ms <= now_ms and not self._queue.consumers

    def cancel(self) -> None:
        """The queue is deleted."""
        self._deadline.cancel()

    def _arm(self) -> Deadline:
        return self._queue.env.deadlines.at(self._used_ms + self._expires_ms, self._fire)

    def _fire(self) -> None:
        queue = self._queue
        if queue.consumers:
            self._used_ms = queue.env.moment.wall_ms
        if self.is_over():
            queue.env.queue_expired(queue)
        else:
            self._deadline = self._arm()
