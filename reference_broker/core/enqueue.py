"""The one path by which a message enters queues: publish, dead-lettering, publish over HTTP.

The law: whether each queue takes the message is decided first; then it is journaled once, with an
entry for each durable queue that takes it; then it is in the indexes. Nothing is between the last
two, so that a journaled entry and an indexed one are the same set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reference_broker.core.expiry import expires_at_ms
from reference_broker.core.journal import Entry

if TYPE_CHECKING:
    from reference_broker.core.content import Content
    from reference_broker.core.death import Death
    from reference_broker.core.header import HeaderFacts
    from reference_broker.core.ports import QueueEnvironment
    from reference_broker.core.queue import Queue


def enqueue(
    queues: Sequence[Queue], content: Content, facts: HeaderFacts, env: QueueEnvironment
) -> bool:
    """Put ``content`` into ``queues``, which are different ones.

    False says that at least one queue refused it (``reject-publish``): nack the publisher; the
    others have it. The caller confirms once ``journal.synced`` has reached the ``journal.tail``
    that it sees after this call. Consumers get it at the next dispatch, for which every queue was
    marked dirty.
    """
    if len(queues) != 1:
        taking = [
            q for q in queues if q.length_limit is None or not q.length_limit.refuses(q, content)
        ]
        store(taking, content, facts, env)
        return len(taking) == len(queues)

    # The hot path: one queue, no list built, no call that can be spared.
    queue = queues[0]
    limit = queue.length_limit
    if limit is not None and limit.refuses(queue, content):
        return False
    index, priority, expires_at = queue.index, 0, 0
    if queue.levels is not None:
        priority = queue.levels.level_of(facts.priority)
        index = queue.levels.index_for(priority)
    ttl_ms = queue.limits.message_ttl_ms
    if ttl_ms is not None or facts.expiration_ms is not None:
        expires_at = expires_at_ms(env.moment.wall_ms, ttl_ms, facts.expiration_ms)
        queue.expiry.watching = True
    if queue.durable and facts.persistent:
        entry = Entry(queue.id, index.tail, expires_at, priority)
        content.position = env.journal.publish((entry,), content)
    queue.contents[index.append(content.position, len(content.body), expires_at)] = content
    queue.published += 1
    queue.header_bytes += len(content.header)
    if not queue.dirty:
        env.mark_dirty(queue)
    if limit is not None:
        limit.enforce_after_publish(queue)
    return True


def store(
    queues: Sequence[Queue],
    content: Content,
    facts: HeaderFacts,
    env: QueueEnvironment,
    source: Death | None = None,
) -> None:
    """Journal ``content`` and append it to ``queues``, all of which take it.

    With ``source``, a dead letter: the entry it comes from is gone in the same record when every
    target is journaled too, and is acked otherwise.
    """
    places = []
    entries = []
    for queue in queues:
        index, priority = queue.index, 0
        if queue.levels is not None:
            priority = queue.levels.level_of(facts.priority)
            index = queue.levels.index_for(priority)
        expires_at = expires_at_ms(
            env.moment.wall_ms, queue.limits.message_ttl_ms, facts.expiration_ms
        )
        places.append((queue, index, expires_at))
        if queue.durable and facts.persistent:
            entries.append(Entry(queue.id, index.tail, expires_at, priority))
    _journal(entries, len(entries) == len(places), content, env, source)
    for queue, index, expires_at in places:
        sequence = index.append(content.position, len(content.body), expires_at)
        queue.contents[sequence] = content
        queue.published += 1
        queue.header_bytes += len(content.header)
        if expires_at:
            queue.expiry.watching = True
        env.mark_dirty(queue)
    for queue in queues:
        if queue.length_limit is not None:
            queue.length_limit.enforce_after_publish(queue)


def _journal(
    entries: list[Entry],
    every_target: bool,
    content: Content,
    env: QueueEnvironment,
    source: Death | None,
) -> None:
    logged_source = source is not None and source.sequence >= 0
    if not entries:
        if source is not None and logged_source:
            env.journal.ack(source.queue.id, source.sequence, source.content.position)
        return
    if source is None or not logged_source:
        content.position = env.journal.publish(entries, content)
        return
    queue_id, sequence, position = source.queue.id, source.sequence, source.content.position
    if every_target:
        content.position = env.journal.move(queue_id, sequence, position, entries, content)
    else:
        content.position = env.journal.publish(entries, content)
        env.journal.ack(queue_id, sequence, position)
