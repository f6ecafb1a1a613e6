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


@unique
class Alarm(Enum):
    """What the broker is short of. The value is what connection.blocked says, as in RabbitMQ."""

    MEMORY = "low on memory"
    DISK = "low on disk"


_LOW_ON = "low on "


class Alarms:
    """The alarms that are on, and the connections that are blocked for it.

    One is on while it is measured, and while an operator holds it: neither ends the other's.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._measured: dict[Alarm, None] = {}
        self._held: dict[Alarm, None] = {}

    @property
    def on(self) -> list[Alarm]:
        """In the order in which they were raised, those that an operator holds last."""
        return list(self._measured | self._held)

    def sound(self, alarm: Alarm) -> None:
        """Block every publisher. Idempotent."""
        self._raise(alarm, self._measured)

    def clear(self, alarm: Alarm) -> None:
        """Unblock everybody, unless another alarm is still on. Idempotent."""
        self._end(alarm, self._measured)

    def hold(self, alarm: Alarm) -> None:
        """An operator wants it on, whatever is measured, until :meth:`release`. Idempotent."""
        self._raise(alarm, self._held)

    def release(self, alarm: Alarm) -> None:
        """The end of :meth:`hold`; what is measured stays on. Idempotent."""
        self._end(alarm, self._held)

    def check(self, connection: Connection) -> None:
        """The connection may have become a publisher."""
        if (self._measured or self._held) and connection.has_published:
            connection.block(self._reason())

    def _raise(self, alarm: Alarm, reasons: dict[Alarm, None]) -> None:
        reasons[alarm] = None
        for connection in self._broker.connections.values():
            self.check(connection)

    def _end(self, alarm: Alarm, reasons: dict[Alarm, None]) -> None:
        if reasons.pop(alarm, self) is self or self._measured or self._held:
            return
        for connection in self._broker.connections.values():
            connection.unblock()

    def _reason(self) -> str:
        """``low on memory``, or ``low on disk & memory`` for both."""
        shortages = sorted(alarm.value.removeprefix(_LOW_ON) for alarm in self.on)
        return _LOW_ON + " & ".join(shortages)
