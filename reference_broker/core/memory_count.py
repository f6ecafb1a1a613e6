"""A count of the bytes that the broker holds for its clients, in portions: it may take several
turns of the loop, and what changes meanwhile is counted as it is when its turn comes.

    of each queue        messages in memory, their index, and what its features keep of them
    of each connection   output, parked frames, a frame that is not whole, what it has announced,
                         rights that were looked up
    of each channel      itself, consumers, unacked deliveries, a message that is not whole
    of all together      what the log has not written, transactions, remembered targets, promises
                         that wait for the disk, deadlines, and the queues, exchanges and bindings
                         as such

A queue without messages is passed over at once: there may be a hundred thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.index.memory_window import (
    MESSAGE_OVERHEAD_BYTES,
    RESIDENT_BYTES_MIN,
    Demands,
)

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.connection.connection import Connection
    from reference_broker.core.queue.queue import Queue

PROMISE_BYTES = 280
"""Accounted for each promise that waits for the disk: its line, and the objects behind it."""

QUEUE_UNITS = 2
"""Units of work for a queue with messages."""

EMPTY_QUEUES_PER_UNIT = 4
"""Queues without messages that are passed over for one unit of work."""


class MemoryCount:
    """One count. :meth:`advance` it until it is done; then ``held_bytes`` is what is held,
    ``demands`` what the queues would hold if they could, and ``largest`` those that hold more than
    the smallest window, by the magnitude of what they hold."""

    def __init__(self, broker: Broker) -> None:
        self._budget = broker.budget
        self._queues = iter(list(broker.queues_by_id.values()))
        self._connections = iter(list(broker.connections.values()))
        self.held_bytes = _held_in_common(broker)
        self.demands = Demands(broker.window.largest_bytes)
        self.largest: dict[int, list[Queue]] = {}

    def advance(self) -> bool:
        """Go on until the budget is spent. True when everything is counted."""
        return self._advance_queues() and self._advance_connections()

    def whole(self) -> int:
        """Count everything, whatever it takes; the bytes."""
        while not self.advance():
            self._budget.refill()
        return self.held_bytes

    def _advance_queues(self) -> bool:
        budget = self._budget
        empty = 0
        for queue in self._queues:
            if _is_empty(queue):
                empty += 1
                if empty % EMPTY_QUEUES_PER_UNIT:
                    continue
            else:
                self._add(queue)
                budget.left -= QUEUE_UNITS - 1
            budget.left -= 1
            if budget.left <= 0:
                return False
        return True

    def _add(self, queue: Queue) -> None:
        resident = queue.backlog.resident_bytes
        self.held_bytes += queue.memory_bytes
        self.demands.add(queue.ready_bytes + queue.ready * MESSAGE_OVERHEAD_BYTES)
        if resident > RESIDENT_BYTES_MIN:
            self.largest.setdefault(resident.bit_length(), []).append(queue)

    def _advance_connections(self) -> bool:
        budget = self._budget
        for connection in self._connections:
            budget.left -= 1 + len(connection.channels)
            self.held_bytes += _held_by(connection)
            if budget.left <= 0:
                return False
        return True


def _is_empty(queue: Queue) -> bool:
    return not (
        queue.contents
        or queue.leases
        or queue.backlog.absent
        or len(queue.delayed)
        or queue.levels is not None
        or queue.delivery_counts
    )


def _held_by(connection: Connection) -> int:
    return connection.memory_bytes + sum(
        [channel.memory_bytes for channel in connection.channels.values()]
    )


def _held_in_common(broker: Broker) -> int:
    held = broker.journal.tail - broker.journal.synced
    held += broker.transactions.held_bytes
    held += broker.targets.held_bytes
    held += len(broker.ledger) * PROMISE_BYTES
    held += broker.timers.memory_bytes + broker.deadlines.memory_bytes
    return held + sum([vhost.memory_bytes for vhost in broker.vhosts.values()])
