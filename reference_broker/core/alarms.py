"""Resource alarms: while one is on, connections that have published are not read (law 7).

Consumers go on, since they are how a broker gets less full. A connection that both publishes and
consumes is stopped too: its acks wait behind its publishes, as in RabbitMQ.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.connection import Connection

MESSAGE_OVERHEAD_BYTES = 512
"""Accounted for each message beside body and header: its route, the objects that hold them, and its
places in dictionaries and index. 440 to 520 bytes in CPython 3.11."""

COUNTS_PER_WATERMARK = 32
"""Memory is counted when this part of the watermark was received: at most 3 % over it."""

COUNT_INTERVAL_S = 0.1
"""Between two counts while the memory alarm is on."""


@unique
class Alarm(Enum):
    """What the broker is short of. The value is what connection.blocked says, as in RabbitMQ."""

    MEMORY = "low on memory"
    DISK = "low on disk"


class Alarms:
    """The alarms that are on, and the connections that are blocked for it."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._on: dict[Alarm, None] = {}

    @property
    def on(self) -> list[Alarm]:
        """In the order in which they were raised."""
        return list(self._on)

    def sound(self, alarm: Alarm) -> None:
        """Block every publisher. Idempotent."""
        self._on[alarm] = None
        for connection in self._broker.connections.values():
            self.check(connection)

    def clear(self, alarm: Alarm) -> None:
        """Unblock everybody, unless another alarm is still on. Idempotent."""
        if self._on.pop(alarm, self) is self or self._on:
            return
        for connection in self._broker.connections.values():
            connection.unblock()

    def check(self, connection: Connection) -> None:
        """The connection may have become a publisher."""
        if self._on and connection.has_published:
            connection.block(next(iter(self._on)).value)


class MemoryWatermark:
    """Sounds the memory alarm while more is held than an operator allows.

    What is accounted is what the broker holds for its clients, and not the process's RSS, which
    does not fall in CPython when messages go. It is counted anew, over all queues and connections,
    each time a fraction of the watermark has been received, and at short intervals while the alarm
    is on: that costs a busy broker nearly nothing, and may be late by the fraction.
    """

    def __init__(self, broker: Broker, watermark_bytes: int) -> None:
        self._broker = broker
        self._watermark_bytes = watermark_bytes
        self._step_bytes = max(1, watermark_bytes // COUNTS_PER_WATERMARK)
        self._received_bytes = 0
        self._exceeded = False

    def received(self, size: int) -> None:
        """Clients sent ``size`` bytes, and their input has been handled."""
        self._received_bytes += size
        if self._received_bytes >= self._step_bytes:
            self._received_bytes = 0
            if not self._exceeded:
                self._count()

    def _count(self) -> None:
        self._exceeded = held_bytes(self._broker) > self._watermark_bytes
        if self._exceeded:
            self._broker.alarms.sound(Alarm.MEMORY)
            self._broker.after(COUNT_INTERVAL_S, self._count)
        else:
            self._broker.alarms.clear(Alarm.MEMORY)


def held_bytes(broker: Broker) -> int:
    """Bytes that the broker holds for its clients: messages, half-published ones included, and what
    waits in either direction."""
    held = 0
    for vhost in broker.vhosts.values():
        for queue in vhost.queues.values():
            held += queue.ready_bytes + queue.unacked_bytes + queue.header_bytes
            held += (queue.ready + queue.unacked) * MESSAGE_OVERHEAD_BYTES
    for connection in broker.connections.values():
        held += connection.output_size + connection.parked_bytes
        for channel in connection.channels.values():
            if channel.assembly is not None:
                held += channel.assembly.held_bytes
    return held
