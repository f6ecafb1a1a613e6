"""Protocols of the objects around a queue: its virtual host, its consumers, and the features that
higher rooms make for it. So a queue is tested with a few lines of memory and no broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from reference_broker.core.arguments.queue_arguments import QueueArguments
    from reference_broker.core.arguments.requeue_position import RequeueRule
    from reference_broker.core.base.deadlines import Deadlines
    from reference_broker.core.base.moment import Moment
    from reference_broker.core.index.memory_window import MemoryWindow
    from reference_broker.core.journal.clock_mark import ClockMark
    from reference_broker.core.journal.journal import Journal
    from reference_broker.core.message.message_headers import MessageHeaders
    from reference_broker.core.queue.death import Death, DeathReason
    from reference_broker.core.queue.dirty_queues import Urgent
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.budget import Budget
    from reference_broker.core.work.until import Until


class AttachedFrom(NamedTuple):
    """The origin of a consumer that is connected to another node than the queue's home: that node,
    and the number that the consumer's attachment has there."""

    node: str
    number: int


class ConsumerPort(Protocol):
    """A consumer, as its queue sees it. The queue never tells it about deletion: the caller does.

    ``priority`` is the ``x-priority`` argument of basic.consume; higher ones are served first.
    Consumers of one priority share by their ``weight``, which is 1 for most. ``requeue`` says where
    what the consumer gives back goes.
    """

    tag: str
    no_ack: bool
    exclusive: bool
    priority: int
    weight: int
    requeue: RequeueRule

    @property
    def leaving(self) -> Until | None:
        """Happens when the consumer has left the queue, where it gets nothing more; ``None`` for
        one that stays."""
        ...

    @property
    def attached_from(self) -> AttachedFrom | None:
        """The origin of a consumer that is connected to another node; ``None`` for one of this
        node."""
        ...

    def capacity(self) -> bool:
        """May one more message be delivered now? Asked before each one, so it must be cheap."""
        ...

    def deliver(self, lease: Lease) -> None:
        """Take the message. Must not call back into the queue; with ``no_ack`` the queue acks the
        lease itself, straight after this returns."""
        ...

    def deliver_run(self, leases: Iterator[Lease]) -> int:
        """Take messages as :meth:`deliver` does, each asked of ``leases`` only when there is
        capacity for it; returns how many. All are handed out for the first time."""
        ...


class DeadLettersPort(Protocol):
    """Dead-lettering of a virtual host, as its queues see it."""

    def send(self, death: Death) -> None:
        """Send ``death`` to the dead-letter exchange of its queue: now, or the more of it, where it
        goes to many queues, in later portions. It is gone from its own queue then."""
        ...

    def refused(self, death: Death) -> None:
        """Send ``death``, which its queue has not taken in, when its turn comes."""
        ...

    def dropped(self, queue: Queue, reason: DeathReason) -> None:
        """Count a message that has gone for good: ``queue`` has no dead-letter exchange."""
        ...


class DeadLetterRoutePort(Protocol):
    """The route of the dead letters of a queue, kept in the queue by the room that makes it. It
    holds while the queue's ``limits`` are these."""

    limits: QueueArguments
    exchange: str
    exchange_octets: bytes
    key: str | None
    route: bytes


class DeduplicationPort(Protocol):
    """The deduplication window of a queue that takes each message once."""

    @property
    def queue(self) -> Queue:
        """The inner queue that the window is."""
        ...

    @property
    def loading(self) -> bool:
        """True while, after a start, keys are still to be read."""
        ...

    def __len__(self) -> int:
        """Keys in the window."""
        ...

    def knows(self, message: MessageHeaders) -> bool | None:
        """True for a repetition; ``None`` for a message without a key to tell it by."""
        ...


class ArrivingPort(Protocol):
    """Messages that go into their queues in portions, and are new to windows until the last one."""

    def begin(self, header: bytes) -> tuple[bytes, ...]:
        """Note a message; returns what to :meth:`end` it with."""
        ...

    def end(self, keys: tuple[bytes, ...]) -> None:
        """The last portion is stored."""
        ...


class FirehosePort(Protocol):
    """The firehose of a virtual host that is traced, as its queues see it."""

    def delivered(self, leases: Iterable[Lease]) -> None:
        """Publish a copy of the message of each of ``leases``, which were just handed out."""
        ...


class QueueEnvironment(Protocol):
    """A virtual host, as its queues see it."""

    journal: Journal
    clock_mark: ClockMark
    moment: Moment
    deadlines: Deadlines
    vhost_name: str
    window: MemoryWindow
    budget: Budget
    """Units of work that are left in this turn."""

    @property
    def arriving(self) -> ArrivingPort:
        """The messages on their way into many queues, with windows among them."""
        ...

    @property
    def dead_letters(self) -> DeadLettersPort:
        """The work list of dead-lettering, one per virtual host."""
        ...

    @property
    def firehose(self) -> FirehosePort | None:
        """``None`` while the virtual host is not traced."""
        ...

    def mark_dirty(self, queue: Queue) -> None:
        """``queue`` may have something to hand out: dispatch it before the current input ends.
        Called any number of times; :meth:`DirtyQueues.mark` is the implementation."""
        ...

    def mark_urgent(self, urgent: Urgent) -> None:
        """Go on with ``urgent`` before anything else; :meth:`DirtyQueues.mark_urgent`."""
        ...

    def follow_letters(self) -> bool:
        """Go on with what is urgent, until nothing is, or the budget is spent: then false."""
        ...

    def is_overtaken(self, queue: Queue) -> bool:
        """True when something urgent goes before ``queue``; :meth:`DirtyQueues.is_overtaken`."""
        ...

    def route(
        self,
        exchange_name: str,
        routing_key: str,
        header: bytes,
        copies: Sequence[str] = (),
        *,
        again: bool = False,
    ) -> tuple[Queue, ...] | None:
        """The queues for a message that a delayed exchange held, in order and without repeats;
        ``None`` when there is no such exchange. ``copies`` are more routing keys. With ``again``
        the message was in a queue before, as a dead letter was: no deduplication window is asked.
        """
        ...

    def queue_expired(self, queue: Queue) -> None:
        """``x-expires`` ran out: delete the queue."""
        ...

    def queue_unused(self, queue: Queue) -> None:
        """The last consumer of an auto-delete queue went: delete the queue."""
        ...
