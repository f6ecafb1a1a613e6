"""basic.ack, basic.nack, basic.reject and basic.recover: from delivery tags to leases.

A delivery tag is a channel's alias for a lease that the queue holds (law 6). Tags of a channel are
consecutive, so "everything up to 57" walks the numbers from the oldest one not yet settled, or what
is outstanding if that is less: each number is passed once at most, however acks are mixed.
On a transactional channel the leases wait for tx.commit (:mod:`transactions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from reference_broker.core.queue.runs import ack_leases
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue


_holder: Callable[[Lease], Any] = attrgetter("holder")
_queue: Callable[[Lease], Queue] = attrgetter("queue")


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
    _settle(channel, ack_all, take_leases(channel, delivery_tag, multiple))


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
        ack_all(channel, leases)


def reject(channel: Channel, delivery_tag: int, multiple: bool, requeue: bool) -> None:
    """Requeue messages at their places, or send them on to the dead-letter exchange.

    Raises ``ChannelException`` (406) for an unknown tag.
    """
    leases = take_leases(channel, delivery_tag, multiple)
    _settle(channel, requeue_all if requeue else reject_all, leases)


def recover(channel: Channel) -> None:
    """Requeue every unacked message of the channel that no transaction has settled."""
    requeue_all(channel, list(take_leases(channel, 0, multiple=True).values()))


def give_back(channel: Channel) -> None:
    """Requeue every unacked message of a channel that ends, whose consumers have gone: each queue
    has all of its messages back before it hands out any."""
    leases = take_leases(channel, 0, multiple=True).values()
    note_settled(leases)
    by_queue: dict[Queue, list[Lease]] = {}
    for lease in leases:
        by_queue.setdefault(lease.queue, []).append(lease)
    for queue, its_leases in by_queue.items():
        queue.requeue(its_leases)


def _settle(
    channel: Channel,
    settle: Callable[[Channel, list[Lease]], None],
    leases: dict[int, Lease],
) -> None:
    if channel.transaction is not None:
        channel.transaction.settle(settle, leases)
    else:
        settle(channel, list(leases.values()))


def take_leases(channel: Channel, delivery_tag: int, multiple: bool) -> dict[int, Lease]:
    """Remove the leases of a settlement from the channel; returns them by tag, oldest first. Their
    holders still count them: see :func:`note_settled`.

    Tag 0 with ``multiple`` means all, which may be none. Raises ``ChannelException`` (406) for a
    tag that is not outstanding; then none was removed.
    """
    unacked = channel.unacked
    if multiple and delivery_tag == 0:
        delivery_tag = channel.next_delivery_tag - 1
    elif delivery_tag not in unacked:
        raise unknown_delivery_tag(delivery_tag)
    if multiple:
        leases = {}
        for tag in _outstanding(channel, delivery_tag):
            lease = unacked.pop(tag, None)
            if lease is not None:
                leases[tag] = lease
        channel.oldest_delivery_tag = delivery_tag + 1
    else:
        leases = {delivery_tag: unacked.pop(delivery_tag)}
    return leases


def take_back(channel: Channel, leases: Iterable[tuple[int, Lease]]) -> None:
    """Undo :func:`take_leases`: the leases are outstanding again, in order of their tags."""
    unacked = dict(sorted([*channel.unacked.items(), *leases], key=itemgetter(0)))
    if unacked:
        channel.oldest_delivery_tag = min(channel.oldest_delivery_tag, next(iter(unacked)))
    channel.unacked = unacked


def note_settled(leases: Iterable[Lease]) -> None:
    """Tell the holders of ``leases`` that they are settled: a prefetch has room again."""
    for holder, its_leases in groupby(leases, _holder):
        holder.settled(sum(1 for _ in its_leases))


def _outstanding(channel: Channel, delivery_tag: int) -> Iterable[int]:
    """At least the tags up to ``delivery_tag`` that are outstanding, in order. Millions may have
    been settled one by one since the oldest that is known: then only what is left is looked at."""
    oldest = channel.oldest_delivery_tag
    if delivery_tag - oldest < len(channel.unacked):
        return range(oldest, delivery_tag + 1)
    return [tag for tag in channel.unacked if tag <= delivery_tag]


def ack_all(channel: Channel, leases: list[Lease]) -> None:
    """Ack these leases, which were taken off the channel."""
    note_settled(leases)
    for queue, its_leases in groupby(leases, _queue):
        ack_leases(queue, list(its_leases))
    channel.acked += len(leases)


def reject_all(channel: Channel, leases: list[Lease]) -> None:
    """Send the messages of these leases to the dead-letter exchange, or drop them."""
    note_settled(leases)
    for lease in leases:
        lease.queue.reject(lease)


def requeue_all(channel: Channel, leases: list[Lease]) -> None:
    """Give leases back: what one consumer had of a queue, then what another had, by their names.

    Each lot is handed out before the next comes back, to those that have room by then
    (rabbit_channel:foreach_per_queue). A prefetch of the whole channel has room after all of them.
    """
    lots: dict[tuple[bytes, bytes, int], list[Lease]] = {}
    for lease in leases:
        # A queue may have been deleted, and another one have its name.
        key = (lease.queue.name.encode(), _consumer_tag(lease), lease.queue.id)
        lots.setdefault(key, []).append(lease)
    for _, lot in sorted(lots.items()):
        if not channel.global_prefetch:
            note_settled(lot)
        lot[0].queue.requeue(lot)
        if len(lots) > 1:
            lot[0].queue.dispatch()
    if channel.global_prefetch:
        note_settled(leases)


def _consumer_tag(lease: Lease) -> bytes:
    """The tag of the consumer that holds a lease; empty for a lease of basic.get."""
    tag: str = getattr(lease.holder, "tag", "")
    return tag.encode()
