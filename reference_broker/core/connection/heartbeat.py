"""Heartbeats of one connection, both ways (spec section 4.2.7), on one timer.

Every half interval: if nothing was sent since the last look, send a heartbeat; if nothing was
received for MISSED_HEARTBEATS_MAX intervals, the peer is gone. Any octet counts as a heartbeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.wire import HEARTBEAT_FRAME
from reference_broker.core.base.limits import MISSED_HEARTBEATS_MAX

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.connection.connection import Connection

_LOOKS_PER_INTERVAL = 2


class Heartbeat:
    """The heartbeats of one connection, with the interval that tune-ok chose; 0 is none at all."""

    __slots__ = ("_connection", "_interval_s", "_silent_looks", "_timer", "received", "sent")

    def __init__(self, connection: Connection, interval_s: int) -> None:
        self._connection = connection
        self._interval_s = interval_s
        self._silent_looks = 0
        self._timer: Deadline | None = None
        self.received = True
        """True when something was received since the last look. Set by the connection at each
        read."""
        self.sent = True
        """True when something was sent since the last look. Set by the connection at each flush."""
        self._arm()

    def stop(self) -> None:
        """Stop the timer: the connection ended."""
        self._interval_s = 0
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        if self._interval_s:
            delay_s = self._interval_s / _LOOKS_PER_INTERVAL
            self._timer = self._connection.broker.after(delay_s, self._look)

    def _look(self) -> None:
        connection = self._connection
        if self.received or not connection.wants_reading:
            # While we don't read, we can't know whether the peer spoke.
            self._silent_looks = 0
        else:
            self._silent_looks += 1
        if self._silent_looks >= MISSED_HEARTBEATS_MAX * _LOOKS_PER_INTERVAL:
            connection.drop("missed heartbeats from client")
            return
        if not self.sent:
            connection.write(HEARTBEAT_FRAME)
        self.received = self.sent = False
        self._arm()
