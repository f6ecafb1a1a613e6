"""Whose turn it is: round robin among the consumers of a queue, one message at a time.

Consumers of a higher ``x-priority`` are served while any of them has capacity. One that has none is
asked once, and then rests until it is woken (:mod:`rotation`). Consumers of one priority share
equally, unless one of them has a weight (:mod:`weighted_ring`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.index.index import QueueIndex
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.runs import serve_run

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.queue.rotation import ConsumerRotation
    from reference_broker.core.queue.weighted_ring import Ring

DELIVERIES_PER_UNIT = 2
"""Deliveries that cost as much as one message that comes in: in runs they are four."""

WOKEN_PER_UNIT = 4
"""Consumers that take turns again cost 0.5 us each."""


def hand_out(queue: Queue) -> bool:
    """Deliver until no message is ready, the next one has to be read from disk first, or no
    consumer has capacity. False when the turn's budget was spent before that: call it again in a
    later turn, and it goes on with the consumer whose turn it is."""
    rotation = queue.rotation
    if rotation.idle:
        return True
    if rotation.woken:
        queue.env.budget.left -= rotation.resume_woken() // WOKEN_PER_UNIT
    turns = rotation.turns
    while (ring := turns.first) is not None:
        if not _serve(queue, rotation, ring):
            return False
        if ring:
            break
    return True


_NOTHING = QueueIndex()


def _serve(queue: Queue, rotation: ConsumerRotation, ring: Ring) -> bool:
    """Deliver to the consumers of one priority: the hot loop. False when the budget was spent."""
    index, levels, expiry = queue.index, queue.levels, queue.expiry
    take_content, leases = queue.contents.pop, queue.leases
    start = number = queue.lease_number
    end = number + queue.env.budget.left * DELIVERIES_PER_UNIT
    redeliveries = automatic = rested = 0
    many = len(ring) > 1
    firehose = queue.env.firehose
    traced: list[Lease] = []
    interrupted = False
    runs = firehose is None and levels is None and queue.delivery_counts is None
    while ring:
        if expiry.watching and not expiry.drop_overdue():
            interrupted = True
            break
        if levels is not None:
            index = levels.head() or _NOTHING
        if not index.ready or number + rested >= end:
            break
        consumer = next(iter(ring))
        if runs and not many and not expiry.watching:
            given = serve_run(queue, consumer, number)
            if given:
                number += given
                automatic += given if consumer.no_ack else 0
                continue
        if not consumer.capacity():
            rotation.rest(consumer)
            rested += 1
            many = len(ring) > 1
            if rotation.idle:
                break
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
            ring.move_to_end(consumer)
    queue.env.budget.left -= (number - start + rested + 1) // DELIVERIES_PER_UNIT
    queue.note_delivered(number, automatic, redeliveries)
    if firehose is not None:
        firehose.delivered(traced)
    spent = ring and index.ready and number + rested >= end
    return not interrupted and (rotation.idle or not spent)
