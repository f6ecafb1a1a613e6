"""What a queue needs of the rooms around it: its virtual host, and its consumers.

Both are protocols, so that a queue is tested with a few lines of memory and no broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reference_broker.core.arguments.requeue_position import RequeueRule
    from reference_broker.core.base.deadlines import Deadlines
    from reference_broker.core.base.moment import Moment
    from reference_broker.core.dead_letter.dead_letters import DeadLetters
    from reference_broker.core.index.memory_window import MemoryWindow
    from reference_broker.core.journal.journal import Journal
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.firehose import Firehose


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


class QueueEnvironment(Protocol):
    """A virtual host, as its queues see it."""

    journal: Journal
    moment: Moment
    deadlines: Deadlines
    vhost_name: str
    window: MemoryWindow
    dead_letters: DeadLetters
    """The work list of dead-lettering: make one per virtual host with ``DeadLetters(self)``."""
    firehose: Firehose | None
    """``None`` while what is handed out is not traced."""

    def mark_dirty(self, queue: Queue) -> None:
        """``queue`` may have something to hand out: call ``queue.dispatch()`` before the current
        input ends. Called any number of times: the implementation keeps ``queue.dirty``, true
        while the queue is on its list, false again before it dispatches it. After that dispatch it
        calls ``queue.backlog.wake()``."""
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
