"""Message counts of a virtual host: its queues, its exchanges, and the channels that are gone.

Nothing here is called for a message. The hot paths count in plain attributes of channels, queues
and exchanges, most of which they need anyway; the counts are put together when somebody asks. The
counts of a channel that ends are added to its virtual host, so that those sums only rise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from reference_broker.core.arguments.queue_type import QueueType

if TYPE_CHECKING:
    from reference_broker.core.dead_letter.dead_letters import DeadLetters
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.queue.death import Deaths
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.vhost import VHost


class Traffic(NamedTuple):
    """Counts that only rise, by RabbitMQ's names (the ``message_stats`` of a channel).

    ``deliver`` and ``get`` are those with acknowledgements, ``ack`` the client's own; ``publish``
    counts what was routed nowhere too.
    """

    publish: int = 0
    confirm: int = 0
    return_unroutable: int = 0
    drop_unroutable: int = 0
    ack: int = 0
    deliver: int = 0
    deliver_no_ack: int = 0
    get: int = 0
    get_no_ack: int = 0
    get_empty: int = 0
    redeliver: int = 0

    def plus(self, other: Traffic) -> Traffic:
        """The sum of both."""
        return Traffic(*map(int.__add__, self, other))


def traffic_of_queue(queue: Queue) -> Traffic:
    """The counts of a queue so far: deliveries, gets and their acks."""
    automatic = queue.delivered_no_ack + queue.got_no_ack
    return Traffic(
        ack=queue.acked - automatic,
        deliver=queue.delivered - queue.delivered_no_ack,
        deliver_no_ack=queue.delivered_no_ack,
        get=queue.got - queue.got_no_ack,
        get_no_ack=queue.got_no_ack,
        get_empty=queue.got_empty,
        redeliver=queue.redelivered_count,
    )


def count_routed(
    vhost: VHost, exchange: Exchange, queues: Iterable[Queue], instead_of: Iterable[Queue] = ()
) -> None:
    """Count a message that ``exchange`` routed to ``queues``; less those of
    ``instead_of``, for which the message is counted elsewhere."""
    routed = _shown(vhost, queues) - _shown(vhost, instead_of)
    exchange.routed += routed
    vhost.traffic.routed += routed


def _shown(vhost: VHost, queues: Iterable[Queue]) -> int:
    """The number of ``queues`` that a client can see: inner queues do not count."""
    return sum(vhost.queues.get(queue.name) is queue for queue in queues)


class VHostTraffic:
    """The message counts of a virtual host. ``past`` are those of channels that are gone, and of
    requests of the management API, which have none.

    Channels and queues are counted when they come and go. ``queues_declared`` counts those that
    were there already as well. ``past_by_type`` is what went out of queues that are gone, and
    ``past_deaths`` what died in virtual hosts that are, and ``past_tables_dropped`` how many deaths
    their x-deaths had no room for.
    """

    __slots__ = (
        "channels_closed", "channels_opened", "past", "past_by_type", "past_deaths",
        "past_tables_dropped", "queues_created", "queues_declared", "queues_deleted",
        "received_bytes", "routed", "sent_bytes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.past = Traffic()
        self.past_by_type = dict.fromkeys(QueueType, Traffic())
        self.past_deaths: Deaths = Counter()
        self.past_tables_dropped = 0
        self.channels_opened = self.channels_closed = 0
        self.queues_declared = self.queues_created = self.queues_deleted = 0
        self.routed = 0
        """Messages put into queues: one for each queue that a message was routed to."""
        self.received_bytes = self.sent_bytes = 0
        """Bytes of connections that are gone."""

    def channels_ended(self, count: int, traffic: Traffic) -> None:
        """Count channels that ended, and add their counts. To be called once for each."""
        self.channels_closed += count
        self.past = self.past.plus(traffic)

    def queue_created(self) -> None:
        """A queue was declared that was not there."""
        self.queues_declared += 1
        self.queues_created += 1

    def queue_deleted(self, queue: Queue) -> None:
        """Count a queue that was deleted. To be called once for each."""
        self.queues_deleted += 1
        if not queue.is_elsewhere:  # what went out of it was counted at its home
            self._add_of_type(queue.limits.queue_type, traffic_of_queue(queue))

    def absorb(self, other: VHostTraffic, letters: DeadLetters) -> None:
        """Add the sums of a virtual host that is deleted, and of what died there."""
        self.past = self.past.plus(other.past)
        self.past_tables_dropped += other.past_tables_dropped + letters.tables_dropped
        for queue_type, traffic in other.past_by_type.items():
            self._add_of_type(queue_type, traffic)
        self.past_deaths.update(letters.deaths)
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def _add_of_type(self, queue_type: QueueType, traffic: Traffic) -> None:
        self.past_by_type[queue_type] = self.past_by_type[queue_type].plus(traffic)


def tables_dropped(past: VHostTraffic, vhosts: Iterable[VHost]) -> int:
    """Tables of x-death that no frame had room for, in all virtual hosts, those that are gone
    included."""
    return past.past_tables_dropped + sum(vhost.dead_letters.tables_dropped for vhost in vhosts)


_SUMS = tuple(name for name in VHostTraffic.__slots__ if not name.startswith("past"))
