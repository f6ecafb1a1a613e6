"""Whose turn it is: round robin among the consumers of a queue, one message at a time.

Consumers of a higher ``x-priority`` are served while any of them has capacity. A consumer without
capacity is asked once a round and then rests until the next one, so that many of them cost a round
one question each, and a message nothing. Consumers of one priority share equally, unless one of
them has a weight (:mod:`weighted_ring`).
"""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING

from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.runs import serve_run
from reference_broker.core.queue.weighted_ring import Ring, WeightedRing

if TYPE_CHECKING:
    from reference_broker.core.queue.ports import ConsumerPort
    from reference_broker.core.queue.queue import Queue


class ConsumerRotation:
    """The consumers of one queue: ``consumers`` in order of arrival, ``rings`` as they are served.

    With ``single_active`` only one is served, :attr:`active` (RabbitMQ's
    ``x-single-active-consumer``): the first one, until it goes. Then the one of the highest
    priority takes over, of several the one that has been here longest.
    """

    __slots__ = ("_single_active", "active", "consumers", "rings")

    def __init__(self, *, single_active: bool = False) -> None:
        self._single_active = single_active
        self.consumers: list[ConsumerPort] = []
        self.active: ConsumerPort | None = None
        """The single active consumer; ``None`` where there is no such thing."""
        self.rings: list[Ring] = []
        """One ring per priority, highest first; the consumer whose turn it is, is in front."""

    def refuses(self, consumer: ConsumerPort) -> bool:
        """An exclusive consumer has the queue, or ``consumer`` asks for it and can't have it."""
        if consumer.exclusive:
            return bool(self.consumers) or self._single_active
        return any(other.exclusive for other in self.consumers)

    def add(self, consumer: ConsumerPort) -> None:
        self.consumers.append(consumer)
        if self._single_active:
            if self.active is None:
                self._activate(consumer)
            return
        for place, ring in enumerate(self.rings):
            if ring[0].priority == consumer.priority:
                if consumer.weight != 1 and not isinstance(ring, WeightedRing):
                    self.rings[place] = ring = WeightedRing(ring)
                ring.append(consumer)
                return
            if ring[0].priority < consumer.priority:
                self.rings.insert(place, _ring_of(consumer))
                return
        self.rings.append(_ring_of(consumer))

    def remove(self, consumer: ConsumerPort) -> bool:
        """Take a consumer out; false when it was not here."""
        if consumer not in self.consumers:
            return False
        self.consumers.remove(consumer)
        if self._single_active:
            if consumer is self.active:
                # The first of the highest: max keeps the order of arrival.
                waiting = self.consumers
                self._activate(max(waiting, key=attrgetter("priority")) if waiting else None)
            return True
        for ring in self.rings:
            if consumer in ring:
                ring.remove(consumer)
        self.rings = [ring for ring in self.rings if ring]
        return True

    def _activate(self, consumer: ConsumerPort | None) -> None:
        self.active = consumer
        self.rings = [] if consumer is None else [deque((consumer,))]


def _ring_of(consumer: ConsumerPort) -> Ring:
    return deque((consumer,)) if consumer.weight == 1 else WeightedRing((consumer,))


def hand_out(queue: Queue) -> bool:
    """Deliver until no message is ready, the next one has to be read from disk first, or no
    consumer has capacity."""
    for ring in queue.rotation.rings:
        _serve(queue, ring)
    return True


def _serve(queue: Queue, ring: Ring) -> None:
    """Deliver to the consumers of one priority. The hot loop: everything it needs is a local."""
    index = queue.index
    levels, expiry = queue.levels, queue.expiry
    take_content = queue.contents.pop
    leases = queue.leases
    number = queue.lease_number
    redeliveries = automatic = 0
    resting: list[ConsumerPort] = []
    many = len(ring) > 1
    firehose = queue.env.firehose
    traced: list[Lease] = []
    alone = not (many or firehose) and levels is None and queue.delivery_counts is None
    while ring:
        if expiry.watching and not expiry.drop_overdue():
            break
        if levels is not None:
            highest = levels.head()
            if highest is None:
                break
            index = highest
        if not index.ready:
            break
        consumer = ring[0]
        if alone and not expiry.watching:
            given = serve_run(queue, consumer, number)
            if given:
                number += given
                automatic += given if consumer.no_ack else 0
                continue
        if not consumer.capacity():
            resting.append(ring.popleft())
            continue
        taken = index.take()
        assert taken is not None
        sequence, redelivered = taken
        content = take_content(sequence, None)
        if content is None:
            index.put_back(sequence, redelivered)
            queue.backlog.want_head()
            break
        number += 1
        lease = Lease(queue, sequence, content, redelivered, number, consumer)
        leases[sequence] = lease
        redeliveries += redelivered
        consumer.deliver(lease)
        if firehose is not None:
            traced.append(lease)
        if consumer.no_ack:
            queue.ack(lease)
            automatic += 1
        if many:
            ring.rotate(-1)
    ring.extend(resting)
    queue.note_delivered(number, automatic, redeliveries)
    if firehose is not None:
        firehose.delivered(traced)
