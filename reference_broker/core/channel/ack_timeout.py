"""The delivery acknowledgement timeout (RabbitMQ's consumer_timeout), kept per channel: nothing is
noted per delivery, and no delivery has a timer.

Every now and then a channel with consumers is looked at, and the next delivery tag is noted with
the time. A lower tag was delivered before that; so a delivery times out late by up to two looks,
and never early. RabbitMQ looks once a minute.

A message that has timed out is ready again, and its consumer is cancelled: with basic.cancel where
the client knows what that means, and otherwise the channel is closed, as RabbitMQ before 4.3 always
did. The lease stays in the channel's books, stale, until the client settles it, which does nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.channel.settlement import put_back
from reference_broker.core.message.content import Content
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps

_holder: Callable[[Lease], Any] = attrgetter("holder")

LOOK_MS_MAX = 60_000
"""The longest time between two looks: as often as RabbitMQ looks."""

LOOK_MS_MIN = 200
"""The shortest time between two looks: each passes over all that is unacked and old."""

LOOKS_PER_TIMEOUT = 10
"""Looks within a short timeout: it is late by a fifth at most."""

LOOKED_AT_ONCE = 64
"""Deliveries that are looked at before the budget is."""

LOOKS_PER_UNIT = 2
"""Deliveries, or consumers, whose timeout is asked for in the time that one message takes."""

MARKS_MAX = 64
"""Notes that a channel keeps. Of more, every second one goes, and timeouts come a little later."""

_RECLAIMED = Content(b"", b"", b"")
"""In place of the content of a lease that has timed out: the queue has the message again."""


class AckTimeout:
    """The watch over one channel's deliveries. It looks while there is something to look at."""

    __slots__ = ("_channel", "_deadline", "_shortest_ms", "_tags", "_times_ms")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._deadline: Deadline | None = None
        self._shortest_ms = 0
        """The shortest timeout that may be running; 0 is none."""
        self._times_ms: list[int] = []
        self._tags: list[int] = []
        """Next delivery tags, each noted at the time of the same index in ``_times_ms``: all lower
        ones had been delivered by then."""

    def watch(self, timeout_ms: int) -> None:
        """Watch for deliveries that are held longer than ``timeout_ms``; 0 is for ever. Cheap when
        as short a time is watched already."""
        if timeout_ms and (not self._shortest_ms or timeout_ms < self._shortest_ms):
            self._shortest_ms = timeout_ms
            self._arm()

    def stop(self) -> None:
        """Watch no longer: the channel holds nothing any more."""
        if self._deadline is not None:
            self._deadline.cancel()

    def cut_off(self) -> None:
        """The channel is closed, and this is stopped: refer to it no more. Idempotent: a channel
        may have failed just before its connection ended, and both give back what it held."""
        if hasattr(self, "_channel"):
            del self._channel

    def _arm(self) -> None:
        self.stop()
        look_ms = max(self._shortest_ms // LOOKS_PER_TIMEOUT, LOOK_MS_MIN)
        when_ms = self._now_ms() + min(look_ms, LOOK_MS_MAX)
        self._deadline = self._channel.broker.timers.at(when_ms, self._look)

    def _now_ms(self) -> int:
        return round(self._channel.vhost.moment.mono_s * 1000)

    # A look

    def _look(self) -> None:
        channel = self._channel
        holding = [each for each in channel.consumers.values() if not each.no_ack]
        if not holding and not channel.unacked:
            self._shortest_ms = 0
            return
        channel.broker.budget.left -= len(holding) // LOOKS_PER_UNIT
        for consumer in holding:  # a policy may have changed
            self.watch(timeout_of(channel, consumer, consumer.queue))
        old_enough = bisect_right(self._times_ms, self._now_ms() - self._shortest_ms)
        overdue = None
        if old_enough and channel.state is ChannelState.OPEN:  # else at the next look
            overdue = _Overdue(channel, self._tags[:old_enough], self._times_ms[:old_enough])
        self._mark()
        self._arm()
        if overdue is not None:
            channel.perform(overdue.take_back(self._now_ms()), overdue.end)

    def _mark(self) -> None:
        """Note the next delivery tag and the time, and forget notes that no unacked delivery
        needs."""
        channel, tags, times_ms = self._channel, self._tags, self._times_ms
        oldest = next(iter(channel.unacked), channel.next_delivery_tag)
        needless = bisect_right(tags, oldest)
        del tags[:needless], times_ms[:needless]
        if not tags or tags[-1] != channel.next_delivery_tag:
            tags.append(channel.next_delivery_tag)
            times_ms.append(self._now_ms())
        if len(tags) > MARKS_MAX:
            del tags[:-1:2], times_ms[:-1:2]


def timeout_of(channel: Channel, holder: object, queue: Queue) -> int:
    """Milliseconds that ``holder`` may hold a message of ``queue``: the consumer's own time, or the
    queue's, or the broker's; 0 is for ever."""
    if isinstance(holder, Consumer) and holder.timeout_ms is not None:
        return holder.timeout_ms
    if queue.limits.consumer_timeout_ms is not None:
        return queue.limits.consumer_timeout_ms
    return channel.broker.limits.consumer_timeout_ms


class _Overdue:
    """The deliveries of a channel that have timed out, on their way back, in portions where they
    are many. No queue hands one of them out before the channel is closed, if that is its end.

    ``tags`` and ``times_ms`` are the channel's notes, as far as they are old enough.
    """

    __slots__ = (
        "_can_be_told",
        "_channel",
        "_leases",
        "_queues",
        "_tags",
        "_timeout_ms",
        "_times_ms",
    )

    def __init__(self, channel: Channel, tags: list[int], times_ms: list[int]) -> None:
        self._channel = channel
        self._tags = tags
        self._times_ms = times_ms
        self._timeout_ms = 0
        self._can_be_told = channel.connection.client_can("consumer_cancel_notify")
        self._leases: list[Lease] = []
        self._queues: dict[Queue, list[Lease]] = {}

    def take_back(self, now_ms: int) -> Steps:
        """Cancel the consumers that let deliveries time out, and make the messages ready again. The
        consumers go first, so that none gets the message that it has just lost. Call :meth:`end`
        after it."""
        yield from self._find(now_ms)
        yield from self._cancel_consumers()
        for lease in self._leases:
            self._queues.setdefault(lease.queue, []).append(lease)
        for queue in self._queues:
            queue.begin_return()
        for its_leases in self._queues.values():
            yield from put_back(its_leases, failed=False)
        for lease in self._leases:
            lease.content = _RECLAIMED
        self._channel.broker.budget.left -= len(self._leases) // LOOKS_PER_UNIT

    def _find(self, now_ms: int) -> Steps:
        """The leases that have timed out. Those too young for the shortest timeout are not even
        looked at."""
        channel, tags = self._channel, self._tags
        budget = channel.broker.budget
        old = list(takewhile(lambda each: each[0] < tags[-1], channel.unacked.items()))
        for start in range(0, len(old), LOOKED_AT_ONCE):
            some = old[start : start + LOOKED_AT_ONCE]
            for tag, lease in some:
                if lease.content is _RECLAIMED:
                    continue
                timeout_ms = timeout_of(channel, lease.holder, lease.queue)
                age_ms = now_ms - self._times_ms[bisect_right(tags, tag)]
                if 0 < timeout_ms <= age_ms:
                    self._timeout_ms = self._timeout_ms or timeout_ms
                    self._leases.append(lease)
            budget.left -= len(some) // LOOKS_PER_UNIT
            if budget.left <= 0:
                yield None

    def _cancel_consumers(self) -> Steps:
        channel = self._channel
        budget = channel.broker.budget
        for consumer in dict.fromkeys(map(_holder, self._leases)):
            if not isinstance(consumer, Consumer):
                self._can_be_told = False
            elif channel.consumers.get(consumer.tag) is consumer:
                consumer.queue.remove_consumer(consumer)
                consumer.cancelled_by_broker()
                budget.left -= 1
                if budget.left <= 0:
                    yield None

    def end(self) -> None:
        """Close the channel of a client that can't be told of a consumer's end, or that did a
        basic.get, which has none; then the queues hand out again."""
        channel = self._channel
        if self._leases and not self._can_be_told and channel.state is ChannelState.OPEN:
            channel.fail(
                ChannelException(
                    ReplyCode.PRECONDITION_FAILED,
                    f"delivery acknowledgement on channel {channel.number} timed out. Timeout value"
                    f" used: {self._timeout_ms} ms. This timeout value can be configured, see"
                    " consumers doc guide to learn more",
                )
            )
        for queue in self._queues:
            queue.end_return()
