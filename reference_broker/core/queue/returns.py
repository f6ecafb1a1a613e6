"""A message that comes back to its queue, redelivered: at its old place, or where the consumer or
the queue wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.arguments.requeue_position import RequeuePosition
from reference_broker.core.queue.requeue_move import move, rule_for

if TYPE_CHECKING:
    from reference_broker.core.arguments.requeue_position import RequeueRule
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue


def take_back(queue: Queue, lease: Lease) -> None:
    """The message of a lease that has ended is ready again."""
    rule = rule_for(queue, lease)
    if rule.position is RequeuePosition.ORIGINAL:
        _put_back(queue, lease)
    else:
        _move(queue, lease, rule)


def _put_back(queue: Queue, lease: Lease) -> None:
    sequence, content = lease.sequence, lease.content
    index = queue.index_of(sequence)
    logged = queue.durable and content.position >= 0
    keep = not logged or queue.backlog.has_room()
    index.requeue(sequence)
    if index.expires_at(sequence):
        queue.expiry.watching = True
    if logged:
        queue.env.journal.requeue(queue.id, sequence, content.position)
    queue.keep(sequence, content, keep)


def _move(queue: Queue, lease: Lease, rule: RequeueRule) -> None:
    # Behind messages that are not in memory it is the same as theirs: read when it is its turn.
    keep = not queue.backlog.absent and queue.backlog.has_room()
    index, sequence, content = move(queue, lease, rule)
    if queue.delivery_counts is not None:
        queue.delivery_counts.moved(lease.sequence, sequence)
    if rule.delay_ms:
        queue.delayed.hold(index, sequence, content, rule.delay_ms)
        return
    if index.expires_at(sequence):
        queue.expiry.watching = True
    queue.keep(sequence, content, keep or content.position < 0)
