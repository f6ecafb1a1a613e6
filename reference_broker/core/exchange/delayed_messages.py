"""The messages that a delayed exchange holds: a queue that nobody can name, emptied by the clock.

It is a :class:`Queue` with :class:`HeldUntilDue` in place of the expiry at the head. So a held
message is journaled, indexed, paged, read back and restored as any other; its due time is what its
entry has as its expiry. It has no consumers, and is in no list of queues.

Only what is due soon keeps its body in memory, unless the journal doesn't have it.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from reference_broker.core.arguments.queue_arguments import QueueArguments
from reference_broker.core.base.due_order import DueOrder
from reference_broker.core.base.names import described
from reference_broker.core.dead_letter.dead_letter_route import split_route
from reference_broker.core.dead_letter.x_death import cc_keys_of, has_died
from reference_broker.core.message.content import Content
from reference_broker.core.message.delay_header import delay_ms, with_spent_delay
from reference_broker.core.message.header import HeaderFacts, headers_of, read_facts
from reference_broker.core.queue.death import Death, DeathReason
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.forward import distribute_anywhere

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.queue.ports import QueueEnvironment

SOON_MS = 1_000
"""Messages due within this many ms stay in memory: about the time that a busy disk takes."""

READ_AT_ONCE = 1_000
"""Messages that are due and are read from disk in one go."""

OPENED_PER_UNIT = 2
"""Messages that find their place among what is due, for the time that one takes to a queue."""

_EVERY_MESSAGE_HAS_A_TIME = QueueArguments(message_ttl_ms=0)


def delayed_messages(exchange: Exchange, id: int, env: QueueEnvironment) -> Queue:
    """A queue for the delayed messages of ``exchange``, as durable as the exchange is."""
    return Queue(
        id=id,
        name=f"delayed by {described('exchange', exchange.name, env.vhost_name)}",
        durable=exchange.durable,
        auto_delete=False,
        owner=None,
        arguments={},
        limits=_EVERY_MESSAGE_HAS_A_TIME,
        env=env,
        expiry=lambda queue: HeldUntilDue(queue, exchange.name),
    )


class HeldUntilDue:
    """The :class:`~reference_broker.core.queue.expiry.Expiry` of such a queue: messages leave when
    they are due, whatever their place, for the queues that the exchange then routes them to."""

    __slots__ = (
        "_deadline", "_exchange_name", "_fresh", "_order", "_queue", "_restored_ms", "watching",
    )  # fmt: skip
    wants_all = False

    def __init__(self, queue: Queue, exchange_name: str) -> None:
        self._queue = queue
        self._exchange_name = exchange_name
        self._order = DueOrder()
        self._fresh: list[tuple[int, int, Content]] = []
        """Messages that came since the last look: due ms, sequence, and content."""
        self._deadline: Deadline | None = None
        self._restored_ms = 0
        """The time of the start that the messages were there at."""
        self.watching = False

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of the order in which messages are due."""
        return self._order.memory_bytes

    def discards_new(self) -> bool:
        """Never: every held message has its time."""
        return False

    def stamp(self, content: Content, facts: HeaderFacts, sequence: int) -> int:
        """When the message that will have ``sequence`` is due."""
        due_ms = self._queue.env.moment.wall_ms + delay_ms(headers_of(content.header))
        self._fresh.append((due_ms, sequence, content))
        self._order.add(due_ms, sequence)
        self.watching = True
        return due_ms

    def restored(self) -> None:
        """Recovery: the queue has another index."""
        index = self._queue.index
        for sequence, _, _ in index.ready_from(0):
            self._order.add(index.expires_at(sequence), sequence)
        self.watching = bool(len(self._order))
        self._restored_ms = self._queue.env.moment.wall_ms

    def may_have_left(self, sequence: int, content: Content) -> bool:
        """True where it was due at the start, or at a time that the clock may have reached before;
        and for a dead letter, which may have been on its way here from a queue that it had left
        before."""
        queue = self._queue
        over_ms = max(self._restored_ms, queue.env.clock_mark.restored_ms)
        return queue.index.expires_at(sequence) <= over_ms or has_died(content.header)

    def drop_overdue(self) -> bool:
        """True: nobody is served from here."""
        return True

    def drop_due(self) -> bool:
        """Route what is due, and see to it that the next one is noticed."""
        self._keep_what_is_due_soon()
        queue, order = self._queue, self._order
        mark, now_ms = queue.env.clock_mark, queue.env.moment.wall_ms
        if not self._open(now_ms):
            return False
        while (head := order.head()) is not None and head[0] <= now_ms:
            sequence = head[1]
            if queue.index.ready_entry(sequence) is not None:
                if queue.durable and not mark.allows(head[0], self._time_has_come):
                    return True  # The queue is dispatched again when that is on the disk.
                if sequence not in queue.contents:
                    self._read_ahead()
                    return True  # The queue is dispatched again when it is here.
                if queue.is_overtaken() or queue.env.is_overtaken(queue):
                    return False
                self._release(sequence)
            order.pop()
        self._watch_next()
        return True

    def _open(self, now_ms: int) -> bool:
        """Have what is due in its order. False: the turn is over before all of it is."""
        order, budget = self._order, self._queue.env.budget
        opened = order.open(now_ms, self._due_of, max(0, budget.left) * OPENED_PER_UNIT)
        budget.left -= opened // OPENED_PER_UNIT
        if order.is_half_open:
            return False
        if opened:
            self._read_ahead()
        return True

    def cancel(self) -> None:
        """The exchange is deleted."""
        self.watching = False
        if self._deadline is not None:
            self._deadline.cancel()

    def _due_of(self, sequence: int) -> int | None:
        """``None`` for a message that was damaged on disk, and is gone."""
        index = self._queue.index
        return None if index.ready_entry(sequence) is None else index.expires_at(sequence)

    def _keep_what_is_due_soon(self) -> None:
        fresh, self._fresh = self._fresh, []
        soon_ms = self._queue.env.moment.wall_ms + SOON_MS
        for due_ms, sequence, content in fresh:
            if due_ms > soon_ms:
                self._queue.backlog.let_go(sequence)
            else:
                self._queue.backlog.keep(sequence, content)

    def _read_ahead(self) -> None:
        """Have the first open ones read, those that are absent."""
        backlog = self._queue.backlog
        if not backlog.fetching:
            near = self._order.near(READ_AT_ONCE)
            backlog.fetch(array("Q", [sequence for _, sequence in near]))

    def _release(self, sequence: int) -> None:
        queue = self._queue
        env = queue.env
        content = queue.contents[sequence]
        queue.backlog.taken(sequence, content)
        queue.index.take_at(sequence)
        header = with_spent_delay(content.header)
        letter = Content(content.route, header, content.body)
        keys = [split_route(content.route)[1], *cc_keys_of(header)]
        first, *copies = (key.decode(errors="surrogateescape") for key in keys)
        again = has_died(header)
        reached = env.route(self._exchange_name, first, header, copies, again=again) or ()
        death = Death(queue, sequence, content, DeathReason.EXPIRED)
        distribute_anywhere(reached, letter, read_facts(header), env, death)

    def _watch_next(self) -> None:
        when_ms = self._order.next_ms()
        self.watching = when_ms is not None
        if when_ms is None:
            return
        if self._queue.durable:
            when_ms = self._queue.env.clock_mark.prepare(when_ms)
        deadline = self._deadline
        if deadline is not None and deadline.pending:
            if deadline.when_ms <= when_ms:
                return  # it comes early, finds nothing due, and is set again
            deadline.cancel()
        self._deadline = self._queue.env.deadlines.at(when_ms, self._time_has_come)

    def _time_has_come(self) -> None:
        self._queue.env.mark_dirty(self._queue)
