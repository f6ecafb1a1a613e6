"""The end of channels: what they hold goes back to the queues.

First a channel is stopped, at once: it gets nothing any more. Then its deliveries go back, in
portions where they are many. A queue hands nothing out before all of them are back, those of all
channels that end together: its order is as it was.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from reference_broker.core.channel import direct_reply
from reference_broker.core.channel.settlement import note_settled, put_back, take_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps

LOOKS_PER_UNIT = 32
"""Leases that are looked at for the time that one message takes."""

_queue: Callable[[Lease], Queue] = attrgetter("queue")


def stop(channel: Channel) -> None:
    """Take the channel's consumers away, of which there are ``CONSUMERS_MAX`` at most, and what it
    has not handled yet."""
    channel.ack_timeout.stop()
    consumers, channel.consumers = channel.consumers, {}
    channel.consumer_bytes = 0
    channel.broker.budget.left -= len(consumers)
    for consumer in consumers.values():
        consumer.queue.remove_consumer(consumer)
    direct_reply.cancel(channel)
    channel.connection.frames_dropped(channel.parked)
    channel.parked.clear()
    channel.assembly = None
    channel.broker.targets.forget(channel)


def release(channels: list[Channel]) -> Steps:
    """Give everything back that ``channels``, which are stopped, still hold. What one of them is
    just doing is done first."""
    returning: dict[Queue, None] = {}
    for channel in channels:
        while channel.steps_ended is not None:
            yield channel.steps_ended
        if channel.transaction is not None:
            channel.transaction.rollback()
        budget = channel.broker.budget
        budget.left -= len(channel.unacked) // LOOKS_PER_UNIT
        for queue in dict.fromkeys(map(_queue, channel.unacked.values())):
            if queue not in returning:
                queue.begin_return()
                returning[queue] = None
        if budget.left <= 0:
            yield None
    for channel in channels:
        yield from _give_back(channel)
    for queue in returning:
        queue.end_return()
    for channel in channels:
        channel.is_released = True
        channel.let_go()


def _give_back(channel: Channel) -> Steps:
    leases: dict[int, Lease] = {}
    yield from take_range(channel, channel.next_delivery_tag - 1, leases)
    note_settled(leases.values())
    by_queue: dict[Queue, list[Lease]] = {}
    for lease in leases.values():
        by_queue.setdefault(lease.queue, []).append(lease)
    for its_leases in by_queue.values():
        yield from put_back(its_leases)
