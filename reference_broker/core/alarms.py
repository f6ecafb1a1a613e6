"""Resource alarms: while one is on, a connection is not read any more from its next publish on
(law 7).

As in RabbitMQ it is a connection's next publish that counts, and it waits for the end of the alarm
with all that was sent behind it: one that has published before, and now asks for a message or wants
to close, is answered. Consumers go on, since they are how a broker gets less full. A connection
that both publishes and consumes is stopped too: its acks wait behind its publishes. What a read
had brought when the alarm began in it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, unique
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.connection.connection import Connection


@unique
class Alarm(Enum):
    """A resource that the broker is short of. The value is what connection.blocked says, as in
    RabbitMQ."""

    MEMORY = "low on memory"
    DISK = "low on disk"


_LOW_ON = "low on "


class Alarms:
    """The alarms that are on, and the connections that are blocked for it.

    An alarm is on while its shortage is measured, and while an operator holds it: neither ends the
    other's. Those of other nodes of a cluster block this one's connections, too, as a message may
    be for any of them; they are not this node's own.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._measured: dict[Alarm, None] = {}
        self._held: dict[Alarm, None] = {}
        self._elsewhere: dict[str, tuple[Alarm, ...]] = {}
        self._changed: Callable[[], None] = _nobody
        self.sounding = False
        """True while any alarm is on, here or elsewhere."""

    @property
    def on(self) -> list[Alarm]:
        """This node's own alarms that are on, in the order in which they were raised; those that an
        operator holds last."""
        return list(self._measured | self._held)

    @property
    def elsewhere(self) -> Mapping[str, tuple[Alarm, ...]]:
        """The alarms of other nodes, by node; no node without one. Read only."""
        return self._elsewhere

    @property
    def reason(self) -> str:
        """``low on memory``, or ``low on disk & memory`` for both, here or elsewhere. Ask only
        while :attr:`sounding`."""
        alarms = {*self._measured, *self._held, *chain(*self._elsewhere.values())}
        return _LOW_ON + " & ".join(sorted(alarm.value.removeprefix(_LOW_ON) for alarm in alarms))

    def follow(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` from now on when this node's own alarms may have changed."""
        self._changed = changed

    def hear(self, node: str, alarms: tuple[Alarm, ...]) -> None:
        """The alarms that are on at another node are these, or none. Idempotent."""
        if alarms:
            self._elsewhere[node] = alarms
            self.sounding = True
        else:
            self._elsewhere.pop(node, None)
            self._unblock()

    def sound(self, alarm: Alarm) -> None:
        """Block every connection as soon as it publishes. Idempotent."""
        self._begin(alarm, self._measured)

    def clear(self, alarm: Alarm) -> None:
        """Unblock every connection, unless another alarm is still on. Idempotent."""
        self._end(alarm, self._measured)

    def hold(self, alarm: Alarm) -> None:
        """Keep the alarm on for an operator, whatever is measured, until :meth:`release`.
        Idempotent."""
        self._begin(alarm, self._held)

    def release(self, alarm: Alarm) -> None:
        """End :meth:`hold`; an alarm whose shortage is measured stays on. Idempotent."""
        self._end(alarm, self._held)

    def check(self, connection: Connection) -> None:
        """Block the connection if its input, which has been handled, had a publish in it and an
        alarm is on."""
        if self.sounding and connection.has_published:
            self.block(connection)

    def block(self, connection: Connection) -> None:
        """Block the connection, which publishes: an alarm is on."""
        connection.block(self.reason)

    def _begin(self, alarm: Alarm, reasons: dict[Alarm, None]) -> None:
        if alarm not in reasons:
            reasons[alarm] = None
            self.sounding = True
            self._changed()

    def _end(self, alarm: Alarm, reasons: dict[Alarm, None]) -> None:
        if alarm in reasons:
            del reasons[alarm]
            self._changed()
            self._unblock()

    def _unblock(self) -> None:
        """Unblock every connection, unless an alarm is still on."""
        if not self.sounding or self._measured or self._held or self._elsewhere:
            return
        self.sounding = False
        for connection in self._broker.connections.values():
            connection.unblock()


def _nobody() -> None:
    """Nobody follows the alarms of a broker on its own."""
