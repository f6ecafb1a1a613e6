"""A run of deliveries: what one consumer gets, one message after another, is taken at once.

It is of messages that were never handed out, follow each other, and are in memory, for a consumer
that shares its turn with nobody. Everything else goes message by message (:mod:`dispatch`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.settle_run import ack_leases

if TYPE_CHECKING:
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
