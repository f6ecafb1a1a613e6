"""basic.ack, basic.nack, basic.reject and basic.recover: from delivery tags to leases.

A delivery tag is a channel's alias for a lease that the queue holds (law 6). Tags of a channel are
consecutive, so "everything up to 57" walks the numbers from the oldest one not yet settled, or what
is outstanding if that is less: each number is passed once at most, however acks are mixed.
On a transactional channel the leases wait for tx.commit (:mod:`transactions`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from reference_broker.core.queue.dirty_queues import LettersEnd
from reference_broker.core.queue.rest import require_rest
from reference_broker.core.queue.runs import ack_leases
from reference_broker.core.work.until import NotYet
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.vhost import VHost
    from reference_broker.core.work.budget import Budget
    from reference_broker.core.work.task import Steps


_holder: Callable[[Lease], Any] = attrgetter("holder")
_queue: Callable[[Lease], Queue] = attrgetter("queue")


Settle: TypeAlias = "Callable[[Channel, list[Lease]], Steps]"
"""A way to settle leases that were taken off a channel."""

TAKEN_AT_ONCE = 1_024
"""Leases that are taken off a channel before the budget is looked at again."""

TAKEN_PER_UNIT = 8
"""Leases that cost as much to be taken off, or to be freed, as one message."""

LOOKS_PER_UNIT = 32
"""Leases that are looked at in the time of one message."""

FREED_AT_ONCE = 256
"""Leases that are freed before the budget is looked at again."""


def unknown_delivery_tag(delivery_tag: int) -> ChannelException:
    """The error for a tag that was never allotted, or is settled already."""
    return ChannelException(ReplyCode.PRECONDITION_FAILED, f"unknown delivery tag {delivery_tag}")


def ack(channel: Channel, delivery_tag: int, multiple: bool) -> None:
    """Ack one message, or all up to it with ``multiple``. Raises ``ChannelException`` (406) for an
    unknown tag."""
    if not multiple and channel.transaction is None:  # hot path
        lease = channel.unacked.pop(delivery_tag, None)
        if lease is None:
            raise unknown_delivery_tag(delivery_tag)
        lease.queue.ack(lease)
        _holder(lease).settled()
        channel.acked += 1
        return
    _settle(channel, ack_all, delivery_tag, multiple)


def ack_each(channel: Channel, delivery_tags: Sequence[int]) -> None:
    """:func:`ack` of one message after another. Raises ``ChannelException`` (406) at the first
    unknown tag: the messages before it are acked, those behind are not."""
    if len(delivery_tags) == 1 or channel.transaction is not None:
        for tag in delivery_tags:
            ack(channel, tag, False)
        return
    unacked = channel.unacked
    leases: list[Lease] = []
    try:
        for tag in delivery_tags:
            lease = unacked.pop(tag, None)
            if lease is None:
                raise unknown_delivery_tag(tag)
            leases.append(lease)
    finally:
        _ack_now(channel, leases)


def reject(channel: Channel, delivery_tag: int, multiple: bool, requeue: bool) -> None:
    """Requeue messages at their places, or send them on to the dead-letter exchange.

    Raises ``ChannelException`` (406) for an unknown tag.
    """
    _settle(channel, requeue_all if requeue else reject_all, delivery_tag, multiple)


def recover(channel: Channel, answer: Callable[[], None]) -> None:
    """Requeue every unacked message of the channel that no transaction has settled. ``answer`` is
    called when no tag of theirs is outstanding any more, and until then no consumer of the channel
    gets anything: with the answer a client forgets all that it was sent before, as it may with
    RabbitMQ."""
    channel.perform(_recover(channel, answer))


def _recover(channel: Channel, answer: Callable[[], None]) -> Steps:
    by_tag: dict[int, Lease] = {}
    channel.outstanding_limit = channel.automatic_limit = 0
    yield from take_range(channel, _last_tag(channel), by_tag)
    # A channel ends after what it is just doing: it is still there.
    answer()
    channel.limit_outstanding(channel.global_prefetch)
    yield from _settled_by(requeue_all, channel, by_tag)


def _settle(channel: Channel, settle: Settle, delivery_tag: int, multiple: bool) -> None:
    """Settle one delivery, or those up to it that are outstanding now. Tag 0 with ``multiple``
    means all, which may be none. Raises ``ChannelException`` (406) for a tag that is not
    outstanding; then none is settled."""
    if multiple and delivery_tag == 0:
        delivery_tag = _last_tag(channel)
    elif delivery_tag not in channel.unacked:
        raise unknown_delivery_tag(delivery_tag)
    if multiple:
        channel.perform(_settle_range(channel, settle, delivery_tag))
        return
    leases = {delivery_tag: channel.unacked.pop(delivery_tag)}
    if channel.transaction is not None:
        channel.transaction.settle(settle, leases)
    else:
        channel.perform(settle(channel, list(leases.values())))


def _last_tag(channel: Channel) -> int:
    return channel.next_delivery_tag - 1


def _settle_range(channel: Channel, settle: Settle, last_tag: int) -> Steps:
    """Settle what is outstanding up to ``last_tag``. What is delivered meanwhile has other tags."""
    by_tag: dict[int, Lease] = {}
    yield from take_range(channel, last_tag, by_tag)
    if channel.transaction is not None:
        channel.transaction.settle(settle, by_tag)
    else:
        yield from _settled_by(settle, channel, by_tag)


def _settled_by(settle: Settle, channel: Channel, by_tag: dict[int, Lease]) -> Steps:
    leases = list(by_tag.values())
    by_tag.clear()
    yield from settle(channel, leases)
    let_go(channel, leases)


def take_range(channel: Channel, last_tag: int, leases: dict[int, Lease]) -> Steps:
    """Remove the leases up to ``last_tag`` from the channel, and put them into ``leases`` by tag,
    oldest first. Their holders still count them: see :func:`note_settled`."""
    unacked, budget = channel.unacked, channel.broker.budget
    tags = _outstanding(channel, last_tag)
    for start in range(0, len(tags), TAKEN_AT_ONCE):
        some = tags[start : start + TAKEN_AT_ONCE]
        for tag in some:
            lease = unacked.pop(tag, None)
            if lease is not None:
                leases[tag] = lease
        channel.oldest_delivery_tag = some[-1] + 1
        budget.left -= len(some) // TAKEN_PER_UNIT
        if budget.left <= 0:
            yield None
    channel.oldest_delivery_tag = max(channel.oldest_delivery_tag, last_tag + 1)


def take_back(channel: Channel, leases: Iterable[tuple[int, Lease]]) -> None:
    """Undo :func:`take_leases`: the leases are outstanding again, in order of their tags."""
    unacked = dict(sorted([*channel.unacked.items(), *leases], key=itemgetter(0)))
    if unacked:
        channel.oldest_delivery_tag = min(channel.oldest_delivery_tag, next(iter(unacked)))
    channel.unacked = unacked


def note_settled(leases: Iterable[Lease]) -> None:
    """Tell the holders of ``leases`` that they are settled: a prefetch has room again."""
    for holder, its_leases in groupby(leases, _holder):
        holder.settled(len(list(its_leases)))


def in_portions(
    leases: Sequence[Lease], budget: Budget, per_unit: int, work: Callable[[Sequence[Lease]], None]
) -> Steps:
    """``work`` with some of ``leases`` after the other, of which ``per_unit`` cost a unit."""
    for start in range(0, len(leases), TAKEN_AT_ONCE):
        some = leases[start : start + TAKEN_AT_ONCE]
        work(some)
        budget.left -= len(some) // per_unit
        if budget.left <= 0:
            yield None


def tell_settled(leases: Sequence[Lease], budget: Budget) -> Steps:
    """:func:`note_settled`, in portions. Each that has room again may get the next message at once,
    unless its queue hands nothing out."""
    return in_portions(leases, budget, LOOKS_PER_UNIT, note_settled)


def let_go(channel: Channel, leases: list[Lease]) -> None:
    """Forget leases that are settled, which frees them and their messages: many in portions that
    nobody waits for."""
    if len(leases) > TAKEN_AT_ONCE:
        broker = channel.broker
        broker.work.start(_freed(leases, broker.budget), channel.vhost.name, channel.connection.id)


def _freed(leases: list[Lease], budget: Budget) -> Steps:
    while leases:
        del leases[-FREED_AT_ONCE:]
        budget.left -= FREED_AT_ONCE // TAKEN_PER_UNIT
        if budget.left <= 0:
            yield None


def _outstanding(channel: Channel, delivery_tag: int) -> Sequence[int]:
    """At least the tags up to ``delivery_tag`` that are outstanding, in order. Millions may have
    been settled one by one since the oldest that is known: then only what is left is looked at."""
    oldest = channel.oldest_delivery_tag
    if delivery_tag - oldest < len(channel.unacked):
        return range(oldest, delivery_tag + 1)
    tags = list(channel.unacked)
    return tags[: bisect_right(tags, delivery_tag)]


def _ack_now(channel: Channel, leases: Sequence[Lease]) -> None:
    note_settled(leases)
    for queue, its_leases in groupby(leases, _queue):
        ack_leases(queue, list(its_leases))
    channel.acked += len(leases)


def ack_all(channel: Channel, leases: list[Lease]) -> Steps:
    """Ack these leases, which were taken off the channel."""
    budget, start = channel.broker.budget, 0
    while start < len(leases):
        if budget.left <= 0:
            yield None
        portion = leases[start : start + max(1, budget.left)]
        _ack_now(channel, portion)
        start += len(portion)
        budget.left -= len(portion)


def reject_all(channel: Channel, leases: list[Lease]) -> Steps:
    """:func:`reject_each`."""
    return reject_each(channel.vhost, leases)


def reject_each(vhost: VHost, leases: list[Lease]) -> Steps:
    """Send the messages of these leases to the dead-letter exchange, or drop them; each is followed
    to the end of its way before the next one. Letters that were on their way before are not waited
    for: a fork of dead-letter exchanges may have millions."""
    budget, end = vhost.budget, LettersEnd()
    for lease in leases:
        while not vhost.follow_letters(end):
            yield None
        _holder(lease).settled()
        if lease.queue.limits.dead_letter_exchange is not None:
            vhost.mark_urgent(end)
        lease.queue.reject(lease)
        budget.left -= 1
    vhost.follow_letters(end)


def requeue_all(channel: Channel, leases: list[Lease]) -> Steps:
    """Give leases back: what one consumer had of a queue, then what another had, by their names.

    Each lot is handed out before the next comes back, to those that have room by then
    (rabbit_channel:foreach_per_queue). A prefetch of the whole channel has room after all of them.
    """
    lots: dict[tuple[bytes, bytes, int], list[Lease]] = {}
    budget = channel.broker.budget

    def sort(some: Sequence[Lease]) -> None:
        for lease in some:
            # A queue may have been deleted, and another one have its name.
            key = (lease.queue.name.encode(), _consumer_tag(lease), lease.queue.id)
            lots.setdefault(key, []).append(lease)

    yield from in_portions(leases, budget, TAKEN_PER_UNIT, sort)
    for _, lot in sorted(lots.items()):
        queue = lot[0].queue
        is_many = len(lot) > TAKEN_AT_ONCE
        if is_many:
            queue.begin_return()
        if not channel.global_prefetch:
            yield from tell_settled(lot, budget)
        yield from put_back(lot)
        if is_many:
            queue.end_return()
        if len(lots) > 1:
            yield from hand_out(queue)
    if channel.global_prefetch:
        yield from tell_settled(leases, budget)


def put_back(leases: list[Lease], *, failed: bool = True) -> Steps:
    """:meth:`Queue.requeue` of leases of one queue. It hands nothing out before all of them are
    back."""
    if not leases:
        return
    queue = leases[0].queue
    budget = queue.env.budget
    while queue.purging is not None:  # they were not ready when it was asked
        yield queue.purging
    if len(leases) <= budget.left:
        budget.left -= len(leases)
        queue.requeue(leases, failed=failed)
        return
    queue.begin_return()
    start = 0
    while start < len(leases):
        if budget.left <= 0:
            yield None
        portion = leases[start : start + max(1, budget.left)]
        queue.requeue(portion, failed=failed)
        start += len(portion)
        budget.left -= len(portion)
    queue.end_return()


def hand_out(queue: Queue) -> Steps:
    """Have the consumers of ``queue`` get what they can take."""
    while True:
        try:
            require_rest(queue)
        except NotYet as busy:
            yield busy.until
        else:
            return


def _consumer_tag(lease: Lease) -> bytes:
    """The tag of the consumer that holds a lease; empty for a lease of basic.get."""
    tag: str = getattr(lease.holder, "tag", "")
    return tag.encode()
