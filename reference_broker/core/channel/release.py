"""The end of channels: what they hold goes back to the queues.

First a channel is stopped, at once: it gets nothing any more. Then its consumers leave their
queues, and its deliveries go back, in portions where they are many. A queue hands nothing out
before all of them are back, those of all channels that end together: its order is as it was.
"""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING

from reference_broker.core.channel import direct_reply
from reference_broker.core.channel.settlement import (
    LOOKS_PER_UNIT,
    in_portions,
    let_go,
    put_back,
    take_range,
    tell_settled,
)
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.work.until import Until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.channel.consumer import Consumer
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps

TARGETS_PER_UNIT = 16
"""Remembered targets that are let go in the time that one message takes."""

_queue: Callable[[Lease], Queue] = attrgetter("queue")


class LeavingConsumers:
    """The consumers of a channel that has ended, as long as their queues know them. They have no
    capacity for a message. ``gone`` happens when the last one has left its queue."""

    __slots__ = ("consumers", "gone")

    def __init__(self, consumers: Iterable[Consumer]) -> None:
        self.consumers = deque(consumers)
        self.gone = Until()


def stop(channel: Channel) -> None:
    """Have the channel get nothing more, and drop what it has not handled yet: at once, however
    many consumers it has. These leave their queues as the first thing of :func:`release`."""
    channel.ack_timeout.stop()
    channel.outstanding_limit = channel.automatic_limit = 0
    if channel.consumers:
        channel.leaving = LeavingConsumers(channel.consumers.values())
        channel.consumers = {}
        channel.consumer_bytes = 0
    if channel.reply_consumer is not None:
        direct_reply.cancel(channel)
    if channel.parked:
        channel.connection.frames_dropped(channel.parked)
        channel.parked.clear()
    channel.assembly = None


def release(channels: list[Channel]) -> Steps:
    """Give everything back that ``channels``, which are stopped, still hold. What one of them is
    just doing is done first."""
    if not channels:
        return
    budget = channels[0].broker.budget
    # Noted before the first step: these steps themselves may be a channel's by then.
    under_way = [channel.steps_ended for channel in channels]
    for channel in channels:
        yield from _leave(channel)
    returning: dict[Queue, None] = {}
    for channel, ended in zip(channels, under_way, strict=True):
        while ended is not None and channel.steps_ended is ended:
            yield ended
        if channel.transaction is not None:
            channel.transaction.rollback()
        budget.left -= len(channel.unacked) // LOOKS_PER_UNIT
        for queue in dict.fromkeys(map(_queue, channel.unacked.values())):
            if queue not in returning:
                queue.begin_return()
                returning[queue] = None
        if budget.left <= 0:
            yield None
    for channel in channels:
        yield from _give_back(channel)
        channel.is_released = True
        channel.let_go()
        budget.left -= 1
        if budget.left <= 0:
            yield None
    for queue in returning:
        queue.end_return()


def _leave(channel: Channel) -> Steps:
    """Have the channel's consumers leave their queues, and forget where it has published to. Who
    fails just before its connection ends does so twice, and each consumer leaves once."""
    budget, leaving = channel.broker.budget, channel.leaving
    left_elsewhere: list[Steps] = []
    while leaving is not None and leaving.consumers:
        if budget.left <= 0:
            yield None
            continue
        consumer = leaving.consumers.popleft()
        consumer.queue.remove_consumer(consumer)
        if isinstance(consumer.queue, RemoteQueue):
            left_elsewhere.append(consumer.queue.until_left(consumer))
        budget.left -= 1
    for steps in left_elsewhere:
        yield from steps
    if leaving is not None and channel.leaving is leaving:
        channel.leaving = None
        leaving.gone.happened()
    budget.left -= 1 + len(channel.targets) // TARGETS_PER_UNIT
    channel.broker.targets.forget(channel)
    if budget.left <= 0:
        yield None


def _give_back(channel: Channel) -> Steps:
    budget = channel.broker.budget
    by_tag: dict[int, Lease] = {}
    yield from take_range(channel, channel.next_delivery_tag - 1, by_tag)
    leases = list(by_tag.values())
    by_tag.clear()
    yield from tell_settled(leases, budget)
    by_queue: dict[Queue, list[Lease]] = {}

    def sort(some: Sequence[Lease]) -> None:
        for lease in some:
            by_queue.setdefault(lease.queue, []).append(lease)

    yield from in_portions(leases, budget, LOOKS_PER_UNIT, sort)
    for queue in list(by_queue):
        yield from put_back(by_queue.pop(queue))
    let_go(channel, leases)
