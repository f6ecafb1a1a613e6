"""Transactions (tx.*): publishes and settlements of a channel are held back until tx.commit.

As in RabbitMQ: routing and all checks are done at once, so a message that is refused closes the
channel before the commit, and the transaction is lost with it. Only what is new to an exchange or a
queue that takes each message once is asked for again by the commit: it may not be new any more.
Deliveries that are settled leave the unacked ones at once, and come back with tx.rollback or the
end of the channel. A commit puts the messages into their queues first, in order, and then settles.
All of it is logged in one go, and commit-ok leaves when it is on disk (law 3). It is no more than
that: a crash before may keep a part of it, and where one queue refuses a message the others have
theirs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, NamedTuple

from reference_broker.core.base.limits import TRANSACTIONS_PER_WATERMARK
from reference_broker.core.channel import settlement
from reference_broker.core.channel.after_routing import place
from reference_broker.core.channel.settlement import Settle, hand_out
from reference_broker.core.exchange.deduplication_window import DeduplicationWindow
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.core.queue.enqueue import require_rest
from reference_broker.core.queue.fan_out import FanOut, all_of, is_too_many
from reference_broker.core.remote.elsewhere import Elsewhere
from reference_broker.core.remote.forward import are_all_here, require_room
from reference_broker.core.vhost.sender_selected import behind_windows
from reference_broker.core.vhost.traffic import count_routed
from reference_broker.core.work.until import NotYet, Until
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.channel.publish_target import PublishTarget
    from reference_broker.core.journal.free_space import FreeSpace
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps


class TransactionSpace:
    """The bytes that the uncommitted transactions of a broker hold together, and their bound.

    A publisher that is blocked for memory can't commit, so transactions alone must never fill the
    memory: together they are bounded well below the watermark.
    """

    def __init__(self, watermark_bytes: int) -> None:
        self.limit_bytes = watermark_bytes // TRANSACTIONS_PER_WATERMARK
        self.held_bytes = 0

    def take(self, size: int) -> None:
        """Take ``size`` bytes. Raises :exc:`ChannelException` 406 where there is no room; nothing
        is taken then."""
        if self.held_bytes + size > self.limit_bytes:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"uncommitted transactions hold more than {self.limit_bytes} bytes;"
                " commit more often",
            )
        self.held_bytes += size

    def give_back(self, size: int) -> None:
        """Give back ``size`` bytes that were taken before."""
        self.held_bytes -= size


class _Publish(NamedTuple):
    """A message that waits for the commit."""

    target: PublishTarget
    queues: tuple[Queue, ...]
    content: Content
    facts: HeaderFacts
    sent: bytes
    """The header of the message as it was published, with BCC."""


class _Settlement(NamedTuple):
    """Deliveries, by tag, that the commit settles with ``settle``."""

    settle: Settle
    leases: dict[int, Lease]


QUEUE_BYTES = 8
"""Accounted for each queue that a held message goes to: routes that depend on the message are not
shared."""


class Transaction:
    """The publishes and settlements that one channel holds back, from tx.select to its end; each
    commit or rollback empties it.

    ``unacked`` counts the deliveries that are settled and not committed. Call :meth:`rollback`
    before the channel gives its deliveries back.
    """

    __slots__ = ("_channel", "_publishes", "_settlements", "_size", "_space", "unacked")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._space = channel.broker.transactions
        self._publishes: list[_Publish] = []
        self._settlements: list[_Settlement] = []
        self._size = 0
        self.unacked = 0

    def __len__(self) -> int:
        """The number of messages that wait for the commit."""
        return len(self._publishes)

    def publish(
        self,
        target: PublishTarget,
        queues: tuple[Queue, ...],
        content: Content,
        facts: HeaderFacts,
        sent: bytes,
    ) -> None:
        """Hold a message that was routed to ``queues`` and had the header ``sent``. Raises
        :exc:`ChannelException` 406 where there is no room for it."""
        size = content.size + MESSAGE_OVERHEAD_BYTES + QUEUE_BYTES * len(queues)
        if sent is not content.header:
            size += len(sent)
        self._space.take(size)
        self._size += size
        self._publishes.append(_Publish(target, queues, content, facts, sent))

    def settle(self, settle: Settle, leases: dict[int, Lease]) -> None:
        """Hold the settlement of deliveries that were taken off the channel's unacked ones."""
        held = self._settlements
        if held and held[-1].settle is settle:
            held[-1].leases.update(leases)
        else:
            held.append(_Settlement(settle, leases))
        self.unacked += len(leases)

    def has_room(self, space: FreeSpace) -> bool:
        """True when all messages of the transaction can be logged now."""
        entries = sum(not queue.is_elsewhere for it in self._publishes for queue in it.queues)
        plenty = not space.scarce and self._size <= space.plain_bytes
        if not entries or (plenty and entries <= space.plain_entries):
            return True
        return space.admits(self._size, entries, len(self._publishes))

    def commit(self) -> Steps:
        """Publish and settle everything that is held.

        Raises :exc:`ChannelException` 406 when a queue refused a message; everything else was done
        then, and nothing is held any more.
        """
        channel = self._channel
        budget = channel.broker.budget
        publishes, self._publishes = self._publishes, []
        settlements, self._settlements = self._settlements, []
        complete = True
        reached: dict[Queue, None] = {}
        elsewhere = Elsewhere()
        for publish in publishes:
            while True:
                try:
                    complete &= yield from self._publish(publish, reached, elsewhere)
                except NotYet as wait:
                    yield wait.until
                else:
                    break
            if budget.left <= 0:
                yield None
        self._forget()
        yield from elsewhere.until_answered()  # or a crash here could keep the acks alone
        complete &= not elsewhere.refused
        if settlements:  # They make room at consumers, but what was published was there before.
            for queue in reached:
                yield from hand_out(queue)
        for settle, leases in settlements:
            yield from settle(channel, list(leases.values()))
        if not complete:
            raise ChannelException(ReplyCode.PRECONDITION_FAILED, "partial tx completion")

    def _publish(
        self, publish: _Publish, reached: dict[Queue, None], elsewhere: Elsewhere
    ) -> Generator[Until | None, None, bool]:
        """Publish one message; false when a queue that is here refused it."""
        target, queues, content, facts, sent = publish
        channel, vhost = self._channel, self._channel.vhost
        there = tuple(queue for queue in queues if not queue.deleted)
        is_here = are_all_here(there)
        if not is_here:
            require_room(there)
        require_rest(there)
        if len(there) < len(queues) and all(queue.expiry.wants_all for queue in there):
            there = ()  # windows alone: there is no queue left whose message they could note
        # One whose queues were deleted since is lost, as it would be a moment later; where it
        # is mandatory it is returned. One that was seen since is neither.
        counts = not queues or (target.mandatory and not there)
        if any(queue.expiry.wants_all for queue in there):
            vhost.arriving.require_none(sent)
            there = _still_new(channel, target, there, sent)
        if not (there or counts):
            return True
        _count(channel, target, there)
        reached |= dict.fromkeys(there)
        if not is_here:
            there = elsewhere.publish(there, content)
            if not there:
                vhost.budget.left -= 1
                return True
        if is_too_many(there, vhost.budget):
            fan_out = FanOut(there, content, facts, vhost)
            yield from all_of(fan_out)
            return not fan_out.refused
        vhost.budget.left -= 1
        return place(channel, target, there, content, facts)

    def rollback(self) -> None:
        """Forget the messages, and take the deliveries back as unacked. Idempotent."""
        settlements, self._settlements = self._settlements, []
        self._publishes = []
        self._forget()
        settlement.take_back(
            self._channel, [lease for held in settlements for lease in held.leases.items()]
        )

    def _forget(self) -> None:
        self._space.give_back(self._size)
        self._size = self.unacked = 0


def _still_new(
    channel: Channel, target: PublishTarget, queues: tuple[Queue, ...], sent: bytes
) -> tuple[Queue, ...]:
    """``queues`` without those that have seen the message since it was published, and without
    their windows. All others keep it: a route of today may be another one."""
    headers = MessageHeaders(sent)
    windows = [queue.expiry for queue in queues if isinstance(queue.expiry, DeduplicationWindow)]
    knowing = [window.queue for window in windows if window.knows(headers)]
    if not knowing:
        return queues
    dropped = [
        *knowing,
        *(q for q in queues if q.deduplication is not None and q.deduplication.queue in knowing),
    ]
    exchange = channel.vhost.exchanges.get(target.exchange)
    if exchange is not None:  # one of its windows, or of an exchange behind it, may be knowing
        dropped += behind_windows(channel.vhost, exchange, target.routing_key, sent)
    return tuple(queue for queue in queues if queue not in dropped)


def _count(channel: Channel, target: PublishTarget, queues: Iterable[Queue]) -> None:
    exchange = channel.vhost.exchanges.get(target.exchange)
    if exchange is not None:
        exchange.published += 1
        count_routed(channel.vhost, exchange, queues)
