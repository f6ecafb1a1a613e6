"""Runs of one queue: messages that one consumer gets in a row, and leases that are acked in a row.

A run of deliveries is of messages that were never handed out, follow each other, and are in
memory, for a consumer that shares its turn with nobody; all others go one by one (:mod:`dispatch`).
Acks of leases that follow each other are settled at once::

    leases of 41 42 43 | 57 58   ->   ack 41, then 42 43 as a run; ack 57, then 58 as a run
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reference_broker.core.index.index import RUN_ENTRIES
from reference_broker.core.queue.lease import Lease

if TYPE_CHECKING:
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.ports import ConsumerPort
    from reference_broker.core.queue.queue import Queue


def serve_run(queue: Queue, consumer: ConsumerPort, number: int) -> int:
    """Deliver what is next to ``consumer``, as long as it has capacity; returns how many messages
    that was. ``number`` is the last lease's. None says only that it was no run."""
    index = queue.index
    first, count = index.fresh_run()
    if count < 2:
        return 0
    leases: list[Lease] = []
    given = consumer.deliver_run(
        _leases(queue, consumer, range(first, first + count), number, leases)
    )
    if given:
        index.take_run(given)
        if consumer.no_ack:
            ack_leases(queue, leases)
    return given


def _leases(
    queue: Queue, consumer: ConsumerPort, sequences: range, number: int, made: list[Lease]
) -> Iterator[Lease]:
    """A lease for each message that is asked for, up to the first that isn't in memory."""
    take_content = queue.contents.pop
    held = queue.leases
    for sequence in sequences:
        content = take_content(sequence, None)
        if content is None:
            return
        number += 1
        held[sequence] = lease = Lease(queue, sequence, content, False, number, consumer)
        made.append(lease)
        yield lease


def ack_leases(queue: Queue, leases: Sequence[Lease]) -> None:
    """:meth:`Queue.ack` of each of ``leases``, all of which are of ``queue``."""
    place = 0
    while place < len(leases):
        queue.ack(leases[place])
        place += 1
        if place < len(leases) and queue.levels is None:
            place += _ack_following(queue, leases, place)


def _ack_following(queue: Queue, leases: Sequence[Lease], place: int) -> int:
    """Settle at once what follows the lease before ``place``, and is as easy; returns how many."""
    held = queue.leases
    first = sequence = leases[place - 1].sequence + 1
    logged = leases[place].content.position >= 0
    contents: list[Content] = []
    # By place: a slice walks what lies before, or copies what may be no run.
    for at in range(place, min(place + RUN_ENTRIES, len(leases))):
        lease = leases[at]
        content = lease.content
        if (
            lease.sequence != sequence
            or held.get(sequence) is not lease
            or (content.position >= 0) is not logged
        ):
            break
        contents.append(content)
        sequence += 1
    if not contents:
        return 0
    count = queue.exits.end_run(queue.index, first, contents)
    del contents[count:]
    for sequence in range(first, first + count):
        del held[sequence]
    queue.note_acked(count, sum([len(content.header) for content in contents]))
    return count
