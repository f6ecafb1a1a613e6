"""The one path by which a message enters queues: publish, dead-lettering, publish over HTTP.

The law: whether each queue takes the message is decided first; then it is journaled once, with an
entry for each durable queue that takes it; then it is in the indexes. Nothing is between the last
two, so that a journaled entry and an indexed one are the same set. A queue keeps the message in
memory as well, unless the journal has it and the queue's window is full.

A deduplication window (:mod:`deduplication_window`) is there to drop repetitions by a publisher,
so it is asked when a message is published, and at no other time:

    publish, by a client or over HTTP     asked, and the message is noted where it is new
    tx.commit                             asked again, message by message: what has come meanwhile
    what a delayed exchange held, is due  asked now and not before, as it goes on only now
    the same, of a dead letter            passes, neither asked nor noted, as all that follow:
    a dead letter, a retry by TTL
    reprocess, move (HTTP), requeue

A message that any queue refuses is noted nowhere (:func:`those_that_take`): its publisher is told,
and may try again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reference_broker.core.index.in_doubt import ArrivedInDoubt
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.core.queue.rest import settle_down, until_rest
from reference_broker.core.work.budget import FAN_OUT_UNITS
from reference_broker.core.work.until import NotYet

if TYPE_CHECKING:
    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.death import Death
    from reference_broker.core.queue.ports import QueueEnvironment
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.queue.transfer import Departure

_new_entry = tuple.__new__
"""Half of what calling the class costs."""


def enqueue(
    queues: Sequence[Queue], content: Content, facts: HeaderFacts, env: QueueEnvironment
) -> bool:
    """Put ``content`` into ``queues``, which are different ones.

    False says that at least one queue refused it (``reject-publish``): nack the publisher; the
    others have it. The caller confirms once ``journal.synced`` has reached the ``journal.tail``
    that it sees after this call. Consumers get it at the next dispatch, for which every queue was
    marked dirty. Raises :exc:`NotYet`; nothing is changed then.
    """
    if len(queues) != 1:
        require_rest(queues)
        env.budget.left -= FAN_OUT_UNITS * len(queues)
        taking = those_that_take(queues, content)
        store(taking, content, facts, env)
        return len(taking) == len(queues)

    # The hot path: one queue, no list built, no call that can be spared. The rest is _append
    # again, written out: test_enqueue compares the two.
    queue = queues[0]
    limit = queue.length_limit
    if limit is not None and limit.refuses_publish(queue, content):
        return False
    index, priority, expires_at = queue.index, 0, 0
    if queue.levels is not None:
        priority = queue.levels.level_of(facts.priority)
        index = queue.levels.index_at(priority)
    ttl_ms = queue.limits.message_ttl_ms
    if ttl_ms is not None or facts.expiration_ms is not None:
        if ttl_ms == 0 and _discards_publish(queue):
            return True
        expires_at = queue.expiry.stamp(content, facts, index.tail)
    size = len(content.body)
    if queue.durable and (facts.persistent or queue.stores_all):
        entry = _new_entry(Entry, (queue.id, index.tail, expires_at, priority))
        env.journal.publish((entry,), content)
        position = content.position
        backlog = queue.backlog
        if backlog.absent:
            keep = position < 0
        elif queue.levels is None:  # Backlog.has_room, without the calls
            resident_bytes = index.ready_bytes + index.ready * MESSAGE_OVERHEAD_BYTES
            keep = resident_bytes < env.window.size_bytes or position < 0
        else:
            keep = position < 0 or backlog.has_room()
        sequence = index.append(position, size, content.stored, expires_at)
    else:
        keep = True
        sequence = index.append(NOT_STORED, size, 0, expires_at)
    if keep:
        queue.contents[sequence] = content
        queue.header_bytes += len(content.header)
    else:
        queue.backlog.leave_out(sequence, size)
    queue.published += 1
    if not queue.dirty:
        env.mark_dirty(queue)
    if limit is not None:
        limit.enforce_after_publish(queue)
    return True


def _discards_publish(queue: Queue) -> bool:
    """See :meth:`Expiry.discards_new`. Raises :exc:`NotYet`."""
    require_rest((queue,))
    return queue.expiry.discards_new()


def require_rest(queues: Sequence[Queue]) -> None:
    """Raises :exc:`NotYet` for a queue whose answer to a publish depends on what its consumers
    take and what is overdue, where finding out takes more than this turn."""
    for queue in queues:
        if queue.length_limit is not None:
            queue.length_limit.require_rest(queue)
        if queue.limits.message_ttl_ms != 0 or queue.expiry.wants_all:
            continue
        if queue.returning or (queue.ready and not settle_down(queue)):
            raise NotYet(until_rest(queue))


def those_that_take(queues: Sequence[Queue], content: Content) -> list[Queue]:
    """The ones of ``queues`` that ``content`` may be stored in: all but those that refuse it, and
    where one does, without the windows of what was seen. What refuses it has counted it."""
    taking = [q for q in queues if q.length_limit is None or not q.length_limit.refuses(q, content)]
    if len(taking) < len(queues):
        taking = [q for q in taking if not q.expiry.wants_all]
    return taking


def store(
    queues: Sequence[Queue],
    content: Content,
    facts: HeaderFacts,
    env: QueueEnvironment,
    source: Death | Departure | None = None,
    redelivered: bool = False,
) -> None:
    """Journal ``content`` and append it to ``queues``, all of which take it (or discard it at once,
    see :meth:`Expiry.discards_new`).

    With ``source``, a dead letter or a moved message: the entry it comes from is gone in the same
    record when every target is journaled too, and is acked otherwise. Only then it is gone from its
    index: what is in no index may be left out of what the log knows about its files, and a crash
    would lose it. With ``redelivered`` it may have been in ``queues`` before, and handed out
    (:mod:`~reference_broker.core.index.in_doubt`).
    """
    if len(queues) == 1 and source is not None and queues[0].limits.message_ttl_ms is None:
        _store_letter(queues[0], content, facts, env, source, redelivered)
        return
    places = []
    entries = []
    queues = [q for q in queues if q.limits.message_ttl_ms != 0 or not q.expiry.discards_new()]
    for queue in queues:
        index, priority = queue.index, 0
        if queue.levels is not None:
            priority = queue.levels.level_of(facts.priority)
            index = queue.levels.index_at(priority)
        logged = queue.durable and (facts.persistent or queue.stores_all)
        # A durable queue takes "its message is in the log" for "so is its entry". Where it has none
        # (a transient message, beside a queue that stores all), the message must be its own.
        own = content if logged or not queue.durable else content.again()
        expires_at = 0
        if queue.limits.message_ttl_ms is not None or facts.expiration_ms is not None:
            expires_at = queue.expiry.stamp(own, facts, index.tail)
        places.append((queue, index, own, expires_at))
        if logged:
            entries.append(Entry(queue.id, index.tail, expires_at, priority))
    moved = _journal(entries, len(entries) == len(places), content, env, source)
    for queue, index, own, expires_at in places:
        _append(queue, index, own, expires_at)
        if redelivered:
            _mark(queue, index)
        # A dispatch costs as much as this, and a message may have thousands of queues.
        if queue.rotation.consumers or queue.expiry.watching or queue.length_limit is not None:
            env.mark_dirty(queue)
    if source is not None and source.sequence >= 0:
        # Not before the targets are in their indexes: an ack may begin a new segment, and the
        # footer of the old one is made from the indexes.
        source.queue.buried(source, moved=moved)
    for queue in queues:
        _take_care_of_limits(queue, source)


def _take_care_of_limits(queue: Queue, source: Death | Departure | None) -> None:
    """A message came into ``queue``. One that came as a dead letter, and pushes another out or has
    to leave at once itself, is followed before the next one."""
    limit = queue.length_limit
    if limit is not None:
        limit.enforce_after_publish(queue)
    if (
        source is not None
        and queue.limits.dead_letter_exchange is not None
        and (queue.limits.message_ttl_ms == 0 or (limit is not None and limit.pushes_out(queue)))
    ):
        queue.env.mark_urgent(queue)


def _store_letter(
    queue: Queue,
    letter: Content,
    facts: HeaderFacts,
    env: QueueEnvironment,
    source: Death | Departure,
    redelivered: bool,
) -> None:
    """:func:`store` of what mostly comes: from one queue to one that has no message TTL."""
    index, priority, expires_at = queue.index, 0, 0
    if queue.levels is not None:
        priority = queue.levels.level_of(facts.priority)
        index = queue.levels.index_at(priority)
    if facts.expiration_ms is not None:
        expires_at = queue.expiry.stamp(letter, facts, index.tail)
    origin, sequence, moved = source.queue, source.sequence, False
    if queue.durable and (facts.persistent or queue.stores_all):
        entry = _new_entry(Entry, (queue.id, index.tail, expires_at, priority))
        if sequence >= 0:
            moved = origin.exits.move(sequence, source.content, (entry,), letter)
        if not moved:
            env.journal.publish((entry,), letter)
    _append(queue, index, letter, expires_at)
    if redelivered:
        _mark(queue, index)
    if not queue.dirty:
        env.mark_dirty(queue)
    if sequence >= 0:
        origin.buried(source, moved=moved)
    _take_care_of_limits(queue, source)


def _append(queue: Queue, index: QueueIndex, content: Content, expires_at: int) -> None:
    size = len(content.body)
    # Only a durable queue has an entry: the log keeps the message for no other.
    position = content.position if queue.durable else NOT_STORED
    backlog = queue.backlog
    if position < 0:
        keep = True
    elif backlog.absent:
        keep = False
    elif queue.levels is None:  # Backlog.has_room, without the calls
        resident_bytes = index.ready_bytes + index.ready * MESSAGE_OVERHEAD_BYTES
        keep = resident_bytes < queue.env.window.size_bytes
    else:
        keep = backlog.has_room()
    sequence = index.append(position, size, content.stored if position >= 0 else 0, expires_at)
    queue.published += 1
    if keep:
        queue.contents[sequence] = content
        queue.header_bytes += len(content.header)
    else:
        backlog.leave_out(sequence, size)


def _mark(queue: Queue, index: QueueIndex) -> None:
    """The message that was appended last arrived in doubt."""
    if queue.arrived_in_doubt is None:
        queue.arrived_in_doubt = ArrivedInDoubt()
    queue.arrived_in_doubt.mark(queue.id, index, queue.env.journal)


def _journal(
    entries: list[Entry],
    every_target: bool,
    content: Content,
    env: QueueEnvironment,
    source: Death | Departure | None,
) -> bool:
    """Log ``content``; whether the same record took ``source`` away."""
    if not entries:
        return False
    moved = (
        source is not None
        and source.sequence >= 0
        and every_target
        and source.queue.exits.move(source.sequence, source.content, entries, content)
    )
    if not moved:
        env.journal.publish(entries, content)
    return moved
