"""A queue: its messages, its leases, and the features that it is composed of.

The law: a queue decides by itself what happens to its messages; the world reaches it through
:mod:`enqueue` (in), :meth:`Queue.get` and its consumers (out), and the settlement of leases. The
content of a ready message is in ``contents``, or it is absent: then the journal has it, and
:mod:`backlog` reads it when its turn comes. The content of an unacked message is in its lease.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from reference_broker.core.arguments.queue_arguments import QueueArguments
from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.index.exits import Exits, LocalExits
from reference_broker.core.index.in_doubt import ArrivedInDoubt
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.index.priority import PriorityLevels, first_sequence
from reference_broker.core.message.content import Content
from reference_broker.core.policy.policy import NO_POLICIES, AppliedPolicies
from reference_broker.core.queue.backlog import Backlog
from reference_broker.core.queue.death import Death, DeathReason
from reference_broker.core.queue.delayed_returns import DelayedReturns
from reference_broker.core.queue.delivery_counts import DeliveryCounts
from reference_broker.core.queue.dispatch import hand_out
from reference_broker.core.queue.expiry import Expiry, MessageExpiry, UnusedExpiry
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.length_limit import LengthLimit
from reference_broker.core.queue.ports import (
    ConsumerPort,
    DeadLetterRoutePort,
    DeduplicationPort,
    QueueEnvironment,
)
from reference_broker.core.queue.rest import require_rest
from reference_broker.core.queue.returns import take_back
from reference_broker.core.queue.rotation import ConsumerRotation
from reference_broker.core.queue.transfer import Departure
from reference_broker.core.work.until import Until
from reference_broker.errors import ChannelException, ReplyCode


class Queue:
    """One queue of a virtual host. ``id`` is never reused, not even for the same name. New
    sequences are of its ``epoch``: the broker's start that serves it.

    ``owner`` is the connection of an exclusive queue. Counters only rise; ``delivered`` counts
    every hand-out but those of :meth:`get` (``got``), each of which has its part without acks
    (``delivered_no_ack``, ``got_no_ack``), ``acked`` both; ``dropped`` what a length limit removed,
    ``refused`` the publishes it turned away, ``lost`` the messages that can't be read any more.
    ``deduplication`` is the window of a queue that takes each message once. ``header_bytes`` are of
    the messages in memory, ``own_limits`` of the arguments alone, ``limits`` of policies too.
    ``returning`` counts the settlements by which many messages are coming back, in portions: until
    all of them are here, nothing is handed out, expired or dropped, since 1,001 would go before 1.
    ``cut_first``: what a length limit is to drop goes before consumers get any. ``purging`` is
    there during a purge, and happens at its end: what was unacked does not come back before.
    ``is_elsewhere`` is true of the stand-in for a queue of another node.
    """

    is_elsewhere = False

    __slots__ = (
        "acked", "arguments", "arrived_in_doubt", "auto_delete", "backlog", "busy_since_s",
        "contents", "cut_first", "dead_letter_route", "deduplication", "delayed", "deleted",
        "delivered", "delivered_no_ack", "delivery_counts", "dirty", "dropped", "durable", "env",
        "epoch", "exits", "expired", "expiry", "got", "got_empty", "got_no_ack", "header_bytes",
        "id", "index", "lease_number", "leases", "length_limit", "levels", "limits", "lost", "name",
        "own_limits", "owner", "policies", "published", "purged", "purging", "redelivered_count",
        "refused", "rejected", "requeued", "rest", "returning", "rotation", "stale_settlements",
        "stores_all", "unused_expiry",
    )  # fmt: skip

    def __init__(
        self,
        *,
        id: int,
        name: str,
        durable: bool,
        auto_delete: bool,
        owner: object | None,
        arguments: Mapping[str, Any],
        limits: QueueArguments,
        env: QueueEnvironment,
        expiry: Callable[[Queue], Expiry] = MessageExpiry,
        deduplication: DeduplicationPort | None = None,
    ) -> None:
        self.id = id
        self.name = name
        self.durable = durable
        self.auto_delete = auto_delete
        self.owner = owner
        self.arguments = dict(arguments)
        self.own_limits = self.limits = limits
        self.policies: AppliedPolicies = NO_POLICIES
        self.env = env
        self.dirty = False
        self.deleted = False
        self.returning = 0
        self.cut_first = False
        self.rest: Until | None = None
        self.purging: Until | None = None
        self.busy_since_s = 0.0

        self.epoch = epoch = env.journal.epoch
        self.exits: Exits = LocalExits(env.journal, id, durable=durable)
        self.index = QueueIndex(first_sequence(epoch))
        self.levels = PriorityLevels(limits.max_priority, epoch) if limits.max_priority else None
        self.contents: dict[int, Content] = {}
        self.backlog = Backlog(self)
        self.arrived_in_doubt: ArrivedInDoubt | None = None
        self.leases: dict[int, Lease] = {}
        self.lease_number = 0
        self.header_bytes = 0

        self.rotation = ConsumerRotation(single_active=limits.single_active_consumer)
        self.expiry = expiry(self)
        self.unused_expiry = UnusedExpiry.of(self)
        self.length_limit = LengthLimit.of(limits)
        quorum = limits.queue_type is QueueType.QUORUM
        self.stores_all = quorum
        """Transient messages are stored too."""
        self.delivery_counts = DeliveryCounts(self) if quorum else None
        self.delayed = DelayedReturns(self)
        self.deduplication = deduplication
        self.dead_letter_route: DeadLetterRoutePort | None = None

        self.published = self.delivered = self.got = self.redelivered_count = 0
        self.delivered_no_ack = self.got_no_ack = self.got_empty = 0
        self.acked = self.requeued = self.rejected = self.stale_settlements = 0
        self.expired = self.dropped = self.refused = self.purged = self.lost = 0

    def __repr__(self) -> str:
        return f"<Queue {self.name!r} ready={self.ready} unacked={self.unacked}>"

    # What others read

    @property
    def ready(self) -> int:
        """Messages that can be handed out."""
        if self.levels is None:
            return self.index.ready
        return sum(index.ready for index in self.levels.all())

    @property
    def ready_bytes(self) -> int:
        """Body bytes of the ready messages."""
        if self.levels is None:
            return self.index.ready_bytes
        return sum(index.ready_bytes for index in self.levels.all())

    @property
    def unacked(self) -> int:
        """Messages that are handed out and not settled, or came back and have to wait."""
        return len(self.leases) + len(self.delayed)

    @property
    def unacked_bytes(self) -> int:
        """Body bytes of the unacked messages."""
        return sum(index.held_bytes - index.ready_bytes for index in self.indexes())

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes: messages in memory, and the index of all."""
        held = self.unacked_bytes - self.delayed.absent_bytes
        bodies_and_headers = held + self.header_bytes
        overhead = len(self.leases) * MESSAGE_OVERHEAD_BYTES
        there_are = self.ready or self.unacked
        index = sum([each.column_bytes for each in self.indexes()]) if there_are else 0
        if self.delivery_counts is not None:
            index += self.delivery_counts.memory_bytes
        index += self.expiry.memory_bytes + self.delayed.memory_bytes
        return self.backlog.resident_bytes + bodies_and_headers + overhead + index

    @property
    def consumers(self) -> Collection[ConsumerPort]:
        """The consumers in order of arrival; read only."""
        return self.rotation.consumers.keys()

    # Composition

    def take_limits(self, limits: QueueArguments, policies: AppliedPolicies) -> None:
        """Have ``limits`` hold from now on, which ``policies`` brought. A shorter length cuts at
        once, and a changed ``expires`` starts over."""
        before, self.limits, self.policies = self.limits, limits, policies
        if LengthLimit.differ(before, limits):
            self.length_limit = LengthLimit.of(limits)
            self.came_back()
        if limits.expires_ms != before.expires_ms:
            if self.unused_expiry is not None:
                self.unused_expiry.cancel()
            self.unused_expiry = UnusedExpiry.of(self)

    def keep_dead_letter_route(self, route: DeadLetterRoutePort) -> None:
        """Keep the route of the queue's dead letters for the next one."""
        self.dead_letter_route = route

    # Books of a run: once for all its messages

    def note_published(self, first: int, contents: Sequence[Content]) -> None:
        """``contents`` were appended to the index, with the sequences from ``first`` on, and stay
        in memory."""
        count = len(contents)
        self.contents.update(zip(range(first, first + count), contents, strict=True))
        self.header_bytes += sum([len(content.header) for content in contents])
        self.published += count

    def note_left_out(self, first: int, size: int, count: int) -> None:
        """``count`` messages were appended, which only the log has; ``size`` is of all bodies."""
        self.backlog.leave_out(first, size, count)
        self.published += count

    def note_delivered(self, number: int, no_ack: int, redelivered: int) -> None:
        """Messages were handed out to consumers, the last one by the lease of that ``number``;
        ``no_ack`` of them without acks, and ``redelivered`` not for the first time."""
        self.delivered += number - self.lease_number
        self.delivered_no_ack += no_ack
        self.redelivered_count += redelivered
        self.lease_number = number

    def note_acked(self, count: int, header_bytes: int) -> None:
        """``count`` leases were acked, of messages with headers of ``header_bytes`` together."""
        self.acked += count
        self.header_bytes -= header_bytes

    def note_got_empty(self) -> None:
        """A basic.get was answered with basic.get-empty."""
        self.got_empty += 1

    # Handing out

    def dispatch(self) -> bool:
        """Hand ready messages to consumers that have capacity, then expire what is due, then drop
        what is too much. False when the budget is spent before the end, or something urgent goes
        first: the queue has to be marked dirty, and is dispatched again then.

        Does nothing when there is nothing to do; cheap enough to be called after every input that
        touched the queue.
        """
        if self.deleted or self.returning:
            return True
        if self.cut_first:
            if self.length_limit is not None and not self.length_limit.enforce(self):
                return False
            self.cut_first = False
        if self.rotation.consumers:
            if not hand_out(self):
                return False
            if self.backlog.absent:
                self.backlog.read_ahead()
        if self.expiry.watching and not self.expiry.drop_due():
            return False
        if self.length_limit is not None and self.length_limit.pushes_out(self):
            if not self.length_limit.enforce(self):
                return False
            if self.expiry.watching and not self.expiry.drop_due():  # of the head that is left
                return False
        if self.delivery_counts and not self.unacked and not self.ready:
            self.delivery_counts.clear()
        return True

    def is_overtaken(self) -> bool:
        """True when the budget is spent, or something urgent goes before the queue loses more to
        its dead-letter exchange. What goes for good has not to wait for anybody's letters."""
        if self.limits.dead_letter_exchange is None:
            return self.env.budget.left <= 0
        return self.env.budget.left <= 0 or self.env.is_overtaken(self)

    def get(self, holder: object, *, no_ack: bool = False) -> Lease | None:
        """basic.get: one message as a lease of ``holder``; ``None`` when the queue is empty.

        It is ``None`` too while something is ``ready`` but the next message has to be read first:
        have :meth:`Backlog.await_head` say when to ask again. The caller settles the lease; for
        ``no_ack`` it acks it at once. Counts as use of the queue (x-expires).

        Waiting consumers go first. Raises :exc:`NotYet`.
        """
        self.touch()
        require_rest(self)
        index = self.head_index()
        taken = None if index is None else index.take()
        if index is None or taken is None:
            return None
        sequence, redelivered = taken
        content = self.contents.pop(sequence, None)
        if content is None:
            index.put_back(sequence, redelivered)
            self.backlog.want_head()
            return None
        self.lease_number += 1
        lease = Lease(self, sequence, content, redelivered, self.lease_number, holder)
        self.leases[sequence] = lease
        self.got += 1
        self.got_no_ack += no_ack
        self.redelivered_count += redelivered
        if self.expiry.watching and not self.expiry.drop_due():
            self.env.mark_dirty(self)
        return lease

    def head_index(self) -> QueueIndex | None:
        """The index that the next message comes from; it may be empty, ``None`` is empty too."""
        return self.index if self.levels is None else self.levels.head()

    # Settling

    def ack(self, lease: Lease) -> None:
        """The holder is done with the message. A stale lease is counted and changes nothing."""
        sequence = lease.sequence
        leases = self.leases
        if leases.get(sequence) is not lease:
            self.stale_settlements += 1
            return
        del leases[sequence]
        self.acked += 1
        content = lease.content
        self.header_bytes -= len(content.header)
        index = self.index if self.levels is None else self.levels.holding(sequence)
        self.exits.end(index, sequence, content)

    def requeue(self, leases: Iterable[Lease], *, failed: bool = True) -> None:
        """Put messages back, redelivered: at their original place, unless the consumer or the queue
        asked for another. Stale leases are counted. A quorum queue counts each return, and those
        that are ``failed`` deliveries against its limit: one too many, and the message is dead.

        As in RabbitMQ, a length limit that this exceeds drops from the head first. What is overdue
        is dead before anyone can have it, and before the queue goes with its connection.
        """
        current = [lease for lease in leases if self._end(lease)]
        if not current:
            return
        counting = self.delivery_counts
        for lease in current:
            if counting is not None and not counting.returned(lease.sequence, failed=failed):
                self._bury(lease.sequence, lease.content, DeathReason.DELIVERY_LIMIT)
            else:
                self.requeued += 1
                take_back(self, lease)
        if counting is not None:
            counting.write()
        self.delayed.write()
        self.came_back()

    def begin_return(self) -> None:
        """Many messages come back, in portions. Call :meth:`end_return` when all of them are
        here."""
        self.returning += 1

    def end_return(self) -> None:
        """One of those is over."""
        self.returning -= 1
        if not self.returning:
            self.came_back()

    def came_back(self) -> None:
        """Messages are ready again. What is too much by that goes first, and what is overdue is
        dead before the queue can go with its connection (RabbitMQ). A quorum queue offers them to
        its consumers before it looks at its limit."""
        self.env.mark_dirty(self)
        cuts_first = self.limits.queue_type is not QueueType.QUORUM
        self.cut_first = cuts_first and self.length_limit is not None
        if self.returning:
            return
        if self.cut_first and self.length_limit is not None:
            self.cut_first = not self.length_limit.enforce(self)
        if self.expiry.watching and not self.cut_first:
            self.expiry.drop_due()

    def keep(self, sequence: int, content: Content, in_memory: bool) -> None:
        """Hold the content of a message that is ready, or (not ``in_memory``) read it later."""
        if in_memory:
            self.contents[sequence] = content
        else:
            self.header_bytes -= len(content.header)
            self.backlog.leave_out(sequence, len(content.body))

    def reject(self, lease: Lease) -> None:
        """Refused by its holder, without requeue: dead-lettered, or dropped. Stale is counted."""
        if not self._end(lease):
            return
        self.rejected += 1
        self._bury(lease.sequence, lease.content, DeathReason.REJECTED)

    def depart(self, lease: Lease) -> Departure | None:
        """The message leaves for another queue: hand this to
        :func:`~reference_broker.core.queue.enqueue.store` as the source, before anything else.
        ``None``, and counted, for a stale lease."""
        return Departure(self, lease.sequence, lease.content) if self._end(lease) else None

    def _end(self, lease: Lease) -> bool:
        """The lease ends here; false, and counted, when it is not the current one, or the queue is
        being deleted."""
        if self.deleted or self.leases.get(lease.sequence) is not lease:
            self.stale_settlements += 1
            return False
        del self.leases[lease.sequence]
        return True

    # Losing messages

    def drop_head(self, index: QueueIndex, reason: DeathReason) -> bool:
        """Remove the first ready message of ``index``, which must have one, for ``reason``. False,
        and nothing is changed, when it is to be a dead letter and has to be read first."""
        taken = index.take()
        assert taken is not None
        sequence, redelivered = taken
        content = self.contents.pop(sequence, None)
        if content is not None:
            self._bury(sequence, content, reason)
            return True
        if self.limits.dead_letter_exchange is not None:
            index.put_back(sequence, redelivered)
            self.backlog.want_head()
            return False
        self.env.dead_letters.dropped(self, reason)
        position, size, stored, _ = index.entry(sequence)
        self.exits.end_absent(index, sequence, position, stored)
        self.backlog.gone(size)
        return True

    def _bury(self, sequence: int, content: Content, reason: DeathReason) -> None:
        """A taken message leaves by ``reason``: to the dead-letter exchange, if there is one."""
        death = Death(self, sequence, content, reason)
        if self.limits.dead_letter_exchange is not None:
            self.env.dead_letters.send(death)
            return
        self.env.dead_letters.dropped(self, reason)
        self.buried(death)

    def buried(self, death: Death | Departure, *, moved: bool = False) -> None:
        """The message is where it goes to, if anywhere: it is gone from here. ``moved`` says that
        the journal knows that already (:meth:`Exits.move`)."""
        sequence = death.sequence
        index = self.index if self.levels is None else self.levels.holding(sequence)
        if moved:
            self.exits.end_moved(index, sequence)
        else:
            self.exits.end(index, sequence, death.content)
        self.header_bytes -= len(death.content.header)

    def end(self) -> None:
        """The queue takes part in nothing any more, and its leases are stale. Nothing is
        dead-lettered (RabbitMQ). The caller removes the definition before, what the queue holds
        (:func:`~reference_broker.core.queue.removal.remove_everything`), and tells the consumers.
        Whoever waits for the head, or for rest, is told. Idempotent."""
        if self.deleted:
            return
        self.deleted = True
        self.expiry.cancel()
        if self.unused_expiry is not None:
            self.unused_expiry.cancel()
        self.env.mark_dirty(self)

    def take_leases(self) -> dict[int, Lease]:
        """The leases, all of which are stale from now on."""
        leases, self.leases = self.leases, {}
        return leases

    def note_purged(self, count: int) -> None:
        """``count`` ready messages were purged."""
        self.purged += count
        if self.delivery_counts is not None:
            self.delivery_counts.sweep()
            self.delivery_counts.write()

    def note_removed(self, count: int, size: int, contents: Sequence[Content]) -> None:
        """``count`` ready messages with bodies of ``size`` are gone from the index; ``contents``
        were in memory."""
        absent = count - len(contents)
        if absent:
            self.backlog.gone(size - sum([len(content.body) for content in contents]), absent)
        self.header_bytes -= sum([len(content.header) for content in contents])

    # Consumers and use

    def add_consumer(self, consumer: ConsumerPort) -> None:
        """Let a consumer take part, from the next dispatch on.

        Raises :exc:`ChannelException` 403 when another has the queue to itself, or when this one
        wants that and can't have it; nothing is changed then.
        """
        if self.rotation.refuses(consumer):
            raise ChannelException(
                ReplyCode.ACCESS_REFUSED,
                f"queue '{self.name}' in vhost '{self.env.vhost_name}' in exclusive use",
            )
        self.rotation.add(consumer)
        self.env.mark_dirty(self)

    def remove_consumer(self, consumer: ConsumerPort) -> None:
        """The consumer is gone; what it holds stays unacked. Does nothing when it wasn't here."""
        if not self.rotation.remove(consumer):
            return
        if self.rotation.consumers:
            self.env.mark_dirty(self)
        elif self.auto_delete and not self.deleted:
            self.env.queue_unused(self)
        else:
            self.touch()

    def touch(self) -> None:
        """The queue was used (basic.get, a redeclaration): its x-expires starts over."""
        if self.unused_expiry is not None:
            self.unused_expiry.touch()

    # What the store brings back

    def restore(self, indexes: Mapping[int, QueueIndex]) -> None:
        """Recovery: take up what was stored, an index for each priority level (0 where the queue
        has none). No message is in memory. To be called before anything else happens to the queue;
        the caller marks it dirty once all queues are here."""
        if self.levels is None and any(indexes):  # something was put back to the front
            self.levels = PriorityLevels.around(self.index, self.epoch)
        for level, index in indexes.items():
            if self.levels is not None:
                self.levels.adopt(level, index)
            else:
                index.begin_at(first_sequence(self.epoch))
                self.index = index
        self.arrived_in_doubt = ArrivedInDoubt.restored(self.id, indexes.values(), self.env.journal)
        self.backlog.leave_all_out()
        self.expiry.restored()

    def fetched(self, answers: Iterable[tuple[int, Content | None]]) -> None:
        """The answer to :meth:`Journal.fetch`. What waited for it goes on, at the end of the input
        at the latest. A message that is damaged is counted (``lost``) and gone."""
        self.backlog.arrived(answers)
        self.came_back()

    # Within the core

    def index_of(self, sequence: int) -> QueueIndex:
        """The index that has ``sequence``."""
        return self.index if self.levels is None else self.levels.holding(sequence)

    def indexes(self) -> list[QueueIndex]:
        """The index of each level in use, in the order in which they are handed out."""
        return [self.index] if self.levels is None else self.levels.all()
