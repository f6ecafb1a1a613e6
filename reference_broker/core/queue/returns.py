"""A message that comes back to its queue, redelivered: at its old place, or moved to another one
(:mod:`requeue_position`), where the consumer or the queue wants it.

The law: a move gives it a new sequence, in one atomic record of the log that ends the old one. What
is put to the front has a level of its own above the priorities, so that a restart finds it where it
was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reference_broker.core.arguments.queue_arguments import MAX_PRIORITY
from reference_broker.core.arguments.requeue_position import RequeuePosition, RequeueRule
from reference_broker.core.index.priority import FRONT_LEVEL, LEVEL_SHIFT, PriorityLevels
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import read_facts

if TYPE_CHECKING:
    from reference_broker.core.index.index import QueueIndex
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


def put_back_unseen(queue: Queue, leases: Iterable[Lease]) -> None:
    """Put messages back at their places, as if they had not been handed out: their holder has not
    shown them to anybody. Stale leases are counted."""
    for lease in leases:
        sequence, content = lease.sequence, lease.content
        if queue.deleted or queue.leases.get(sequence) is not lease:
            queue.stale_settlements += 1
            continue
        del queue.leases[sequence]
        keep = content.position < 0 or not queue.durable or queue.backlog.has_room()
        index = queue.index_of(sequence)
        index.put_back(sequence, lease.redelivered)
        if index.expires_at(sequence):
            queue.expiry.watching = True
        queue.keep(sequence, content, keep)
    queue.came_back()


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


def rule_for(queue: Queue, lease: Lease) -> RequeueRule:
    """The consumer's rule, if it has one, and the queue's otherwise: who did a basic.get has none,
    and an explicit ``original`` of a consumer can't be told from no word."""
    rule: RequeueRule | None = getattr(lease.holder, "requeue", None)
    if rule is None or rule.position is RequeuePosition.ORIGINAL:
        return queue.limits.requeue
    return rule


def _target(queue: Queue, lease: Lease, rule: RequeueRule) -> QueueIndex:
    """The index at whose end the message is put."""
    if rule.position is RequeuePosition.FRONT:
        if queue.levels is None:
            queue.levels = PriorityLevels.around(queue.index, queue.epoch)
        return queue.levels.index_at(FRONT_LEVEL)
    if queue.levels is None:
        return queue.index
    level = lease.sequence >> LEVEL_SHIFT
    if level == FRONT_LEVEL:
        level = queue.levels.level_of(read_facts(lease.content.header).priority)
    return queue.levels.index_at(max(0, level - rule.lower_priority))


def move(queue: Queue, lease: Lease, rule: RequeueRule) -> tuple[QueueIndex, int, Content]:
    """Give the message a new, ready and redelivered entry, where ``rule`` says, in one record that
    ends the old one; returns where it is, and its content there. The lease has ended."""
    sequence, content = lease.sequence, lease.content
    old = queue.index_of(sequence)
    target = _target(queue, lease, rule)
    expires_at_ms = old.expires_at(sequence)
    moved = Content(content.route, content.header, content.body)
    new = target.tail
    priority = min(new >> LEVEL_SHIFT, MAX_PRIORITY)
    entry = Entry(queue.id, new, expires_at_ms, priority)
    logged = queue.exits.move(sequence, content, (entry,), moved)
    target.append(moved.position, len(moved.body), moved.stored, expires_at_ms)
    target.mark_redelivered(new)
    if logged:
        queue.exits.end_moved(old, sequence)
        queue.env.journal.requeue(queue.id, new, moved.position)
    else:
        queue.exits.end(old, sequence, content)
    return target, new, moved
