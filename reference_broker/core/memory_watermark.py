"""The memory watermark: the bytes that the broker holds for its clients are counted, and at two
marks something is done about them.

    half of the watermark   messages leave memory: windows shrink, what is not on disk goes to pages
    the watermark           publishers are stopped (the memory alarm)

What is accounted is what the broker holds for its clients, and not the process's RSS, which does
not fall in CPython when messages go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.alarms import Alarm
from reference_broker.core.index.memory_window import (
    MESSAGE_OVERHEAD_BYTES,
    RESIDENT_TOTAL_BYTES,
    fair_window,
)

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.broker import Broker
    from reference_broker.core.queue.queue import Queue

COUNTS_PER_WATERMARK = 32
"""Memory is counted when this part of the watermark was received: at most 3 % over it."""

COUNT_INTERVAL_S = 0.1
"""Seconds between two counts while the memory alarm is on, or while more messages can leave
memory."""

SHORT_INTERVAL_S = 1.0
"""Seconds between two counts while memory is short, and nothing is to be done but to see when it is
enough."""

PAGING_RATIO = 0.5
"""Part of the watermark from which on messages leave memory, as in RabbitMQ."""

RELIEVED_RATIO = 0.35
"""Part of the watermark below which memory is enough again. It is lower than PAGING_RATIO by more
than the windows that then fill anew."""

WINDOWS_PER_WATERMARK = 8
"""All windows together are this part of a watermark that is lower than the default."""

NARROWING = 4
"""While memory is short, windows are this part of what they are otherwise."""


class MemoryWatermark:
    """Counts the bytes held by all queues and connections, each time a fraction of the watermark
    has been received, and at short intervals while there is something to do: that costs a busy
    broker nearly nothing, and may be late by the fraction."""

    def __init__(self, broker: Broker, watermark_bytes: int) -> None:
        self._broker = broker
        self._received_bytes = 0
        self._out_of_reach = False
        self._set(watermark_bytes)
        self._short = False
        self._next_count: Deadline | None = None

    def _set(self, watermark_bytes: int) -> None:
        self.watermark_bytes = watermark_bytes
        self._step_bytes = max(1, watermark_bytes // COUNTS_PER_WATERMARK)

    def change(self, watermark_bytes: int, process_bytes: int) -> None:
        """Take over another watermark, which an operator has set. Call it within an input. Below
        ``process_bytes``, what the process takes anyway, the alarm is on until the next change, as
        it is in RabbitMQ, whose watermark is of the process."""
        self._set(watermark_bytes)
        self._out_of_reach = watermark_bytes < process_bytes
        self._count()

    def received(self, size: int) -> None:
        """Count ``size`` bytes that clients sent, once they are handled."""
        self._received_bytes += size
        if self._received_bytes >= self._step_bytes:
            self._count()

    def _count_after(self, delay_s: float) -> None:
        if self._next_count is not None:
            self._next_count.cancel()
        self._next_count = self._broker.after(delay_s, self._count)

    def _count(self) -> None:
        broker, watermark = self._broker, self.watermark_bytes
        self._received_bytes = 0
        held = held_bytes(broker)
        self._short = held > watermark * (RELIEVED_RATIO if self._short else PAGING_RATIO)
        queues = _queues(broker)
        broker.window.size_bytes = self._window(queues)
        # Twice what can have come in since the last count: the loop must not stand still for long.
        wanted = 2 * self._step_bytes
        freed = relieve(queues, wanted, paging=self._short)
        exceeded = self._out_of_reach or held - freed > watermark
        if exceeded:
            broker.alarms.sound(Alarm.MEMORY)
        else:
            broker.alarms.clear(Alarm.MEMORY)
        if exceeded or freed >= wanted:
            self._count_after(COUNT_INTERVAL_S)
        elif self._short:
            self._count_after(SHORT_INTERVAL_S)

    def _window(self, queues: list[Queue]) -> int:
        """The largest window, in bytes, that all queues together can have."""
        total = min(RESIDENT_TOTAL_BYTES, self.watermark_bytes // WINDOWS_PER_WATERMARK)
        narrowing = NARROWING if self._short else 1
        demands = [queue.ready_bytes + queue.ready * MESSAGE_OVERHEAD_BYTES for queue in queues]
        largest = self._broker.window.largest_bytes
        return fair_window(demands, total // narrowing, largest // narrowing)


def relieve(queues: list[Queue], wanted_bytes: int, *, paging: bool) -> int:
    """Have messages beyond the windows leave memory, those of the largest queues first, until
    ``wanted_bytes`` are free; how many are. See :meth:`Backlog.shed`."""
    freed = 0
    for queue in sorted(queues, key=lambda queue: queue.backlog.resident_bytes, reverse=True):
        freed += queue.backlog.shed(wanted_bytes - freed, paging=paging)
        if freed >= wanted_bytes:
            break
    return freed


def held_bytes(broker: Broker) -> int:
    """Bytes that the broker holds for its clients: messages in memory, half-published ones
    included, the index of all, and what waits in either direction, or for the disk: a message that
    is in no window is in memory all the same until the log has written it."""
    held = broker.journal.tail - broker.journal.synced
    held += broker.transactions.held_bytes
    held += sum(queue.memory_bytes for queue in _queues(broker))
    for connection in broker.connections.values():
        held += connection.waiting_bytes
        for channel in connection.channels.values():
            if channel.assembly is not None:
                held += channel.assembly.held_bytes
    return held


def shrink_emptied(broker: Broker) -> None:
    """Free the tables of queues that have no message in memory any more: a dict stays as large as
    it ever was (41 bytes a message) until it is cleared."""
    for queue in _queues(broker):
        if not queue.contents:
            queue.contents.clear()


def _queues(broker: Broker) -> list[Queue]:
    return [queue for vhost in broker.vhosts.values() for queue in vhost.queues_by_id.values()]
