"""A consumer of this node at a queue of another: what it is granted, and what has come for it.

The home counts by what it was granted, this node by what the consumer has room for. So a message
may come when the room is gone. Where the client has stopped reading it waits here, as unseen as in
the queue. Where another queue has used up the channel's prefetch it goes back: others may have it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from itertools import repeat
from typing import TYPE_CHECKING, Protocol, TypeAlias

from reference_broker.core.base.transitions import TransitionTable
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.ports import ConsumerPort
from reference_broker.core.queue.removal import NO_CONTENT
from reference_broker.core.remote.ports import Settlement
from reference_broker.core.work.until import Until

if TYPE_CHECKING:
    from reference_broker.core.message.content import Content
    from reference_broker.core.remote.remote_queue import RemoteQueue
    from reference_broker.errors import ChannelException

_Delivery: TypeAlias = "tuple[int, bool, Content]"
"""The number of a lease, true for a redelivery, and the message."""

WINDOW_MESSAGES = 1024
"""Messages that a consumer is granted beyond those that it has got, at most. With fewer a consumer
of small ones falls behind its publishers, and what waits at its queue has to be read back."""

HANDED_OUT_PER_UNIT = 4
"""Messages of a run that are handed out in the time that one is published."""

WINDOW_BYTES = 1024 * 1024
"""Octets of bodies, likewise."""


def _accounted(contents: Sequence[Content]) -> int:
    """Octets that are accounted for deliveries that wait."""
    octets = sum([len(content.header) + len(content.body) for content in contents])
    return octets + len(contents) * MESSAGE_OVERHEAD_BYTES


class RemoteConsumer(ConsumerPort, Protocol):
    """A consumer of this node, as its attachment sees it."""

    def room(self) -> int:
        """Messages that may be delivered now; 0 has it be woken when there may be more."""
        ...

    def note_waiting(self, octets: int) -> None:
        """Account for so many more octets of deliveries that have come and wait, or fewer."""
        ...

    def cancelled_by_broker(self) -> None:
        """Tell the client that the queue is gone."""
        ...


class AttachmentState(Enum):
    """The state of a consumer at its queue's home."""

    ATTACHING = auto()
    ATTACHED = auto()
    DETACHING = auto()
    OVER = auto()


class AttachmentEvent(Enum):
    """An event of an attachment: the home's answers, the consumer's leave, the home's loss."""

    ATTACHED = auto()
    REFUSED = auto()
    LEAVE = auto()
    DETACHED = auto()
    GONE = auto()


_S, _E = AttachmentState, AttachmentEvent
ATTACHMENT_TABLE = TransitionTable(
    {
        (_S.ATTACHING, _E.ATTACHED): _S.ATTACHED,
        (_S.ATTACHING, _E.REFUSED): _S.OVER,
        (_S.ATTACHING, _E.LEAVE): _S.DETACHING,
        (_S.DETACHING, _E.ATTACHED): _S.DETACHING,
        (_S.DETACHING, _E.REFUSED): _S.OVER,
        (_S.ATTACHED, _E.LEAVE): _S.DETACHING,
        (_S.DETACHING, _E.DETACHED): _S.OVER,
        (_S.ATTACHING, _E.GONE): _S.OVER,
        (_S.ATTACHED, _E.GONE): _S.OVER,
        (_S.DETACHING, _E.GONE): _S.OVER,
    }
)


class Attachment:
    """The attachment of ``consumer`` to ``queue``, and the
    :class:`~reference_broker.core.remote.ports.Taker` of its deliveries. Nothing is granted before
    :meth:`begin`. Its end takes the consumer out of the queue."""

    __slots__ = (
        "_arrived", "_consumer", "_delivered_bytes", "_given", "_granted", "_granted_bytes",
        "_queue", "_waiting", "_waiting_bytes", "changed", "error", "is_begun", "number", "state",
    )  # fmt: skip

    def __init__(self, queue: RemoteQueue, consumer: RemoteConsumer) -> None:
        self.state = AttachmentState.ATTACHING
        self.number = 0
        self.error: ChannelException | None = None
        """The reason why it was refused."""
        self.changed = Until()
        """Happens with each answer of the home."""
        self.is_begun = False
        self._queue = queue
        self._consumer = consumer
        self._waiting: deque[_Delivery] = deque()
        self._arrived = self._given = self._granted = 0
        self._delivered_bytes = self._granted_bytes = self._waiting_bytes = 0

    def begin(self) -> None:
        """Let the consumer get messages from now on. One that was taken, and gone before anybody
        could be told, is cancelled."""
        self.is_begun = True
        if self.state is AttachmentState.OVER:
            self._consumer.cancelled_by_broker()
        else:
            self._queue.wake(self._consumer)

    def leave(self) -> None:
        """Have the consumer leave, once. It asks for nothing more, and gets what is under way to
        it, while its channel is open."""
        self._move(AttachmentEvent.LEAVE)
        self._come_late(self._take_waiting())
        self._queue.home.detach(self.number)

    # What the home says: see Taker.

    def attached(self) -> None:
        self._move(AttachmentEvent.ATTACHED)
        self.changed.happened()

    def refused(self, error: ChannelException) -> None:
        self.error = error
        self._queue.over(self._consumer)
        self._move(AttachmentEvent.REFUSED)
        self.changed.happened()

    def deliver(self, number: int, redelivered: bool, content: Content) -> None:
        queue = self._queue
        queue.renew()
        self._arrived += 1
        if self.state is AttachmentState.DETACHING:
            self._come_late(((number, redelivered, content),))
            return
        self._waiting.append((number, redelivered, content))
        self._note_waiting(_accounted((content,)))
        queue.wake(self._consumer)

    def deliver_run(self, first: int, contents: Sequence[Content]) -> None:
        queue = self._queue
        queue.renew()
        self._arrived += len(contents)
        arrived = zip(range(first, first + len(contents)), repeat(False), contents, strict=False)
        if self.state is AttachmentState.DETACHING:
            self._come_late(arrived)
            return
        self._waiting.extend(arrived)
        self._note_waiting(_accounted(contents))
        queue.wake(self._consumer)

    def _come_late(self, deliveries: Iterable[_Delivery]) -> None:
        """Deliveries have come for a consumer that leaves. The client gets what there is room for,
        as it would of a queue that is here: it was handed out before the consumer has left."""
        unseen: list[int] = []
        for delivery in deliveries:
            if self._consumer.no_ack or self._consumer.capacity():
                self._hand_out(*delivery)
            else:
                unseen.append(delivery[0])
        if unseen:
            self._queue.settlements.add(Settlement.UNSEEN, unseen)

    def detached(self) -> None:
        self._queue.over(self._consumer)
        self._move(AttachmentEvent.DETACHED)
        self.changed.happened()

    def gone(self) -> None:
        self._queue.over(self._consumer)
        self._take_waiting()
        self._move(AttachmentEvent.GONE)
        self.changed.happened()
        self._consumer.cancelled_by_broker()

    def _move(self, event: AttachmentEvent) -> None:
        self.state = ATTACHMENT_TABLE.after(self.state, event)

    # Handing out

    def forget(self) -> None:
        """The home is lost, and takers are told so one after the other: what waits here is
        stale."""
        self._take_waiting()

    def _take_waiting(self) -> deque[_Delivery]:
        """All that waits here, which does so no more."""
        waiting, self._waiting = self._waiting, deque()
        self._note_waiting(-self._waiting_bytes)
        return waiting

    def _note_waiting(self, octets: int) -> None:
        self._waiting_bytes += octets
        self._consumer.note_waiting(octets)

    def go_on(self) -> bool:
        """Hand out what waits, as far as the consumer has room, and ask for more. False when the
        budget is spent before."""
        queue, consumer = self._queue, self._consumer
        budget, waiting = queue.env.budget, self._waiting
        while waiting and consumer.capacity():
            if budget.left <= 0:
                return False
            if waiting[0][1] or queue.env.firehose is not None:
                delivery = waiting.popleft()
                self._note_waiting(-_accounted(delivery[2:]))
                self._hand_out(*delivery)
                budget.left -= 1
            else:
                budget.left -= self._hand_out_run() // HANDED_OUT_PER_UNIT + 1
        if waiting and consumer.room() <= 0 and not consumer.no_ack:
            self._give_back()
        if self.is_begun:
            self._grant()
        return True

    def _give_back(self) -> None:
        """Have the home keep what waits, and send nothing more: the channel has no room."""
        waiting = self._take_waiting()
        self._queue.settlements.add(Settlement.UNSEEN, [number for number, _, _ in waiting])
        self._given += len(waiting)
        self._delivered_bytes += sum(len(content.body) for _, _, content in waiting)
        self._send_grant(self._given)

    def _hand_out(self, number: int, redelivered: bool, content: Content) -> None:
        queue, consumer = self._queue, self._consumer
        lease = Lease(queue, number, content, redelivered, number, consumer)
        if not consumer.no_ack:
            queue.leases[number] = lease
        consumer.deliver(lease)
        queue.note_delivered(queue.lease_number + 1, consumer.no_ack, redelivered)
        if queue.env.firehose is not None:
            queue.env.firehose.delivered((lease,))
        lease.content = NO_CONTENT  # the home has the message as long as it is unacked
        self._given += 1
        self._delivered_bytes += len(content.body)

    def _hand_out_run(self) -> int:
        """Hand out the first messages that nobody had before, as far as the consumer has room;
        returns how many."""
        queue, consumer = self._queue, self._consumer
        contents: list[Content] = []
        count = consumer.deliver_run(self._fresh(contents))
        self._note_waiting(-_accounted(contents))
        queue.note_delivered(queue.lease_number + count, count if consumer.no_ack else 0, 0)
        self._given += count
        self._delivered_bytes += sum([len(content.body) for content in contents])
        return count

    def _fresh(self, taken: list[Content]) -> Iterator[Lease]:
        """A lease for each message that is asked for, and was ``taken`` then, up to one that
        somebody had before."""
        queue, consumer, waiting = self._queue, self._consumer, self._waiting
        leases = {} if consumer.no_ack else queue.leases
        while waiting and not waiting[0][1]:
            number, _, content = waiting.popleft()
            taken.append(content)
            leases[number] = lease = Lease(queue, number, content, False, number, consumer)
            try:
                yield lease
            finally:
                lease.content = NO_CONTENT

    def _grant(self) -> None:
        """Have the home send as much as there is room for. A grant costs a frame, so none goes
        while more than half of the last one is still to come, of messages and of octets."""
        room = min(self._consumer.room(), WINDOW_MESSAGES)
        messages = self._given + room
        few = messages > self._granted and self._granted - self._arrived <= room // 2
        octets_left = self._granted_bytes - self._delivered_bytes
        if few or (messages > self._arrived and octets_left <= WINDOW_BYTES // 2):
            self._send_grant(max(messages, self._granted))

    def _send_grant(self, messages: int) -> None:
        self._granted = messages
        self._granted_bytes = self._delivered_bytes + WINDOW_BYTES
        self._queue.home.grant(self.number, messages, self._granted_bytes)
