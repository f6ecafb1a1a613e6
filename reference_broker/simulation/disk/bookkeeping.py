"""The log's books and the broker's accounts, read inside, for one checker.

As :mod:`reference_broker.simulation.disk.inspection`, this knows how the broker keeps it.
"""

from __future__ import annotations

from bisect import bisect_right

from reference_broker.core.broker import Broker
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.simulation.events.events import Books
from reference_broker.store import Log

_EVERYWHERE = 1 << 62


def all_queues(broker: Broker) -> list[Queue]:
    """The queues of all virtual hosts, inner queues (of windows and delayed exchanges) included."""
    return list(broker.queues_by_id.values())


def queue_ids_of(vhost: VHost) -> set[int]:
    """The ids of the queues of one virtual host, inner queues included."""
    return {queue.id for queue in vhost.queues_by_id.values() if queue.env is vhost}


def has_nothing_to_give(vhost: VHost) -> bool:
    """True when every queue is empty, those of delayed exchanges included. Windows need not be."""
    windows = [
        queue.deduplication.queue
        for queue in vhost.queues.values()
        if queue.deduplication is not None
    ]
    return not any(
        queue.ready or queue.unacked
        for queue in vhost.queues_by_id.values()
        if queue.env is vhost and queue not in windows
    )


def is_damaged(log: Log) -> bool:
    """True when a segment is damaged. Its books are closed then: nobody can tell what is in it."""
    return any(use.damaged for use in log._liveness)


def books_of(log: Log, broker: Broker) -> Books:
    """The log's books, between two inputs."""
    uses = list(log._liveness)
    bases = [use.base for use in uses]
    shares = dict.fromkeys(bases, 0)
    astray: list[tuple[str, int]] = []
    for queue in all_queues(broker):
        for columns in broker.live_entries(queue.id, 0, _EVERYWHERE):
            for position, stored in zip(columns.positions, columns.stored, strict=True):
                place = bisect_right(bases, position) - 1
                if place < 0 or (uses[place].sealed and position >= uses[place].end):
                    astray.append((queue.name, position))
                else:
                    shares[bases[place]] += stored
    # What the segment in use has since it was opened is added when it is sealed.
    segments = tuple(
        (
            use.base,
            use.live_bytes + (0 if use.sealed else log._segment.live_bytes),
            shares[use.base],
        )
        for use in uses
    )
    unwanted = [
        (queue.name, sequence)
        for queue in all_queues(broker)
        for sequence in queue.contents
        if queue.index_of(sequence).ready_entry(sequence) is None
    ]
    return Books(segments, tuple(astray), tuple(unwanted))


def held_for_clients(broker: Broker) -> dict[str, int]:
    """Everything that a broker holds for its clients, by name: nothing, when it has none."""
    queues = all_queues(broker)
    return {
        "leases": sum(len(queue.leases) for queue in queues),
        "consumers": sum(len(queue.consumers) for queue in queues),
        "bytes of transactions": broker.transactions.held_bytes,
    }


def held_for_messages(broker: Broker) -> dict[str, int]:
    """Everything that is accounted to queues, by name: nothing, when they are empty. Counts of a
    quorum queue may outlive its messages until the next sweep, and a window outlives them by
    design."""
    return {
        f"bytes of '{queue.name}'": _message_bytes(queue)
        for vhost in broker.vhosts.values()
        for queue in vhost.queues.values()
    }


def _message_bytes(queue: Queue) -> int:
    counts = queue.delivery_counts
    return queue.memory_bytes - (0 if counts is None else counts.memory_bytes)
