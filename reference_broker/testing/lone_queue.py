"""Queues without a broker: fakes of a queue's environment and of a consumer.

    host = QueueHost()
    queue = host.declare("q", max_length=3)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.publish(queue, b"1", header=encode_header(1, Properties()))
    assert consumer.bodies == [b"1"]

For tests of queues, and for whoever wants to see a queue alone. The journal records, unless
another is given; time stands still until :meth:`QueueHost.advance`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reference_broker.core.arguments.queue_arguments import QueueArguments
from reference_broker.core.arguments.requeue_position import AT_ITS_PLACE, RequeueRule
from reference_broker.core.base.deadlines import Deadlines
from reference_broker.core.base.moment import Moment
from reference_broker.core.dead_letter.dead_letters import DeadLetters
from reference_broker.core.exchange.arriving import Arriving
from reference_broker.core.index.memory_window import MemoryWindow
from reference_broker.core.journal.clock_mark import ClockMark
from reference_broker.core.journal.journal import Journal
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.dirty_queues import DirtyQueues
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.ports import AttachedFrom
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.removal import purge, remove_everything
from reference_broker.core.queue.rest import require_rest
from reference_broker.core.vhost.firehose import Firehose
from reference_broker.core.work.budget import UNLIMITED_UNITS, Budget
from reference_broker.core.work.until import Until
from reference_broker.testing.recording_journal import RecordingJournal


class LoneConsumer:
    """A consumer that keeps its deliveries in ``leases``. ``credit`` is the number of deliveries
    that it has room for: raise it after acks, which wakes the consumer at the next
    :meth:`QueueHost.settle`."""

    def __init__(
        self,
        tag: str = "c",
        *,
        credit: int = 1_000_000,
        no_ack: bool = False,
        exclusive: bool = False,
        priority: int = 0,
        weight: int = 1,
        requeue: RequeueRule = AT_ITS_PLACE,
        attached_from: AttachedFrom | None = None,
    ) -> None:
        self.tag = tag
        self.credit = credit
        self.no_ack = no_ack
        self.exclusive = exclusive
        self.priority = priority
        self.weight = weight
        self.requeue = requeue
        self.leaving: Until | None = None
        self.attached_from = attached_from
        self.leases: list[Lease] = []
        self.asked = 0
        """Number of calls of :meth:`capacity`."""

    def capacity(self) -> bool:
        """True while there is credit."""
        self.asked += 1
        return self.credit > 0

    def deliver(self, lease: Lease) -> None:
        """Take a delivery."""
        self.credit -= 1
        self.leases.append(lease)

    def deliver_run(self, leases: Iterator[Lease]) -> int:
        """Take deliveries while there is credit; how many."""
        count = 0
        while self.capacity() and (lease := next(leases, None)) is not None:
            self.deliver(lease)
            count += 1
        return count

    @property
    def bodies(self) -> list[bytes]:
        """Bodies of the deliveries, in order."""
        return [bytes(lease.content.body) for lease in self.leases]


class QueueHost:
    """A virtual host of queues only, and the environment of each
    (:class:`~reference_broker.core.queue.ports.QueueEnvironment`). ``routes`` has the queues that
    an exchange and a routing key lead to; an exchange that is in no key is missing. The default
    exchange reaches every queue by its name."""

    def __init__(
        self,
        journal: Journal | None = None,
        wall_ms: int = 1_000_000,
        units: int = UNLIMITED_UNITS,
    ) -> None:
        self.journal: Journal = RecordingJournal() if journal is None else journal
        self.moment = Moment(0.0, wall_ms)
        self.clock_mark = ClockMark(self.journal, self.moment)
        self.deadlines = Deadlines()
        self.vhost_name = "/"
        self.window = MemoryWindow()
        self.budget = Budget(units)
        self.dead_letters = DeadLetters(self)
        self.arriving = Arriving()
        self.firehose: Firehose | None = None
        self.queues: dict[str, Queue] = {}
        self.routes: dict[tuple[str, str], list[str]] = {}
        self.gone: list[tuple[str, str]] = []
        """Queues that were deleted by themselves: ``expired`` or ``unused``, and the name."""
        self._dirty = DirtyQueues(self.budget)
        self.mark_dirty = self._dirty.mark
        self.mark_in_turn = self._dirty.mark_in_turn
        self.mark_urgent = self._dirty.mark_urgent
        self.is_overtaken = self._dirty.is_overtaken

    def declare(
        self, name: str, *, durable: bool = True, auto_delete: bool = False, **arguments: Any
    ) -> Queue:
        """Declare a queue; arguments are without their ``x-`` and with underscores
        (``max_length=3``)."""
        table = {"x-" + key.replace("_", "-"): value for key, value in arguments.items()}
        queue = self.queues[name] = Queue(
            id=len(self.queues) + 1,
            name=name,
            durable=durable,
            auto_delete=auto_delete,
            owner=None,
            arguments=table,
            limits=QueueArguments.parse(table, name, self.vhost_name),
            env=self,
        )
        return queue

    def publish(
        self, queues: Queue | Iterable[Queue], *bodies: bytes, header: bytes, settle: bool = True
    ) -> bool:
        """Publish each body with ``header``; then dispatch, unless ``settle`` is false. True if
        every message was taken by every queue."""
        targets = (queues,) if isinstance(queues, Queue) else tuple(queues)
        name = targets[0].name.encode()
        route = b"\0" + bytes((len(name),)) + name
        taken = True
        for body in bodies:
            taken &= enqueue(targets, Content(route, header, body), facts_of(header), self)
        if settle:
            self.settle()
        return taken

    def follow_letters(self) -> bool:
        return not self.dead_letters.sending and self._dirty.follow_letters()

    def settle(self) -> None:
        """End an input: wake the consumers that have credit again, and dispatch every queue that
        was touched, as far as the turn goes."""
        for queue in self.queues.values():
            for consumer in queue.consumers:
                if isinstance(consumer, LoneConsumer) and consumer.credit > 0:
                    queue.rotation.wake(consumer)
        self._dirty.advance()

    def turn(self) -> bool:
        """Begin another turn, and go on with what the last one has left; true when nothing is."""
        self.budget.refill()
        return self._dirty.advance()

    def answer_fetches(self) -> None:
        """Answer the journal's fetches, and those that follow from the answers, until there are
        none. Only for a :class:`RecordingJournal`."""
        journal = self.journal
        assert isinstance(journal, RecordingJournal)
        while journal.fetches:
            answer = journal.answer()
            for queue in self.queues.values():
                if queue.id == answer.queue_id:
                    queue.fetched(answer.contents)
            self.settle()

    def advance(self, milliseconds: int) -> None:
        """Let time pass, in one step, and fire the deadlines that are due at its end."""
        self.moment.wall_ms += milliseconds
        self.moment.mono_s += milliseconds / 1000
        self.deadlines.fire(self.moment.wall_ms, Budget())
        self.settle()

    def route(
        self,
        exchange_name: str,
        routing_key: str,
        header: bytes,
        copies: Sequence[str] = (),
        *,
        again: bool = False,  # there are no windows here
    ) -> tuple[Queue, ...] | None:
        keys = (routing_key, *copies)
        if exchange_name == "":
            return tuple(self.queues[key] for key in dict.fromkeys(keys) if key in self.queues)
        if not any(exchange == exchange_name for exchange, _ in self.routes):
            return None
        names = [name for key in keys for name in self.routes.get((exchange_name, key), ())]
        return tuple(self.queues[name] for name in dict.fromkeys(names))

    def queue_expired(self, queue: Queue) -> None:
        self._lose(queue, "expired")

    def queue_unused(self, queue: Queue) -> None:
        self._lose(queue, "unused")

    def _lose(self, queue: Queue, why: str) -> None:
        self.gone.append((why, queue.name))
        del self.queues[queue.name]
        delete_now(queue)


def purge_now(queue: Queue) -> int:
    """Purge a queue, however many turns that takes; returns how many messages it had."""
    require_rest(queue)
    steps = purge(queue)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return int(stop.value)
        queue.env.budget.refill()


def delete_now(queue: Queue) -> None:
    """End a queue with all that it holds, however many turns that takes."""
    queue.end()
    for _ in remove_everything(queue):
        queue.env.budget.refill()
