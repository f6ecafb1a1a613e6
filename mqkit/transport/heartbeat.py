"""Heartbeats without a clock: the shell ticks, and is told what the tick means.

Four ticks make one heartbeat interval. A silent side is heard every half interval, and a broker
that is silent for two whole intervals is gone (RabbitMQ's guide, and section 4.2.7 of the
specification): seven ticks after the one that heard it last, so that it is not noticed later.
"""

from __future__ import annotations

from enum import Enum, auto

TICKS_PER_INTERVAL = 4
QUIET_TICKS_MAX = 2
SILENT_TICKS_MAX = 7


class Beat(Enum):
    """The action that a tick asks for."""

    NOTHING = auto()
    SEND = auto()
    """Nothing was sent for half an interval: send a heartbeat."""
    GONE = auto()
    """Nothing came for nearly two intervals: the connection is lost."""


class Heartbeat:
    """Set :attr:`heard` when something was received, :attr:`spoke` when something was sent."""

    __slots__ = ("_interval_s", "_quiet_ticks", "_silent_ticks", "heard", "spoke")

    def __init__(self, interval_s: int) -> None:
        self._interval_s = interval_s
        self._silent_ticks = 0
        self._quiet_ticks = 0
        self.heard = False
        self.spoke = False

    @property
    def tick_s(self) -> float | None:
        """Tick this often; ``None`` where there are no heartbeats."""
        return self._interval_s / TICKS_PER_INTERVAL if self._interval_s else None

    def tick(self) -> Beat:
        """To be called every :attr:`tick_s` seconds."""
        self._silent_ticks = 0 if self.heard else self._silent_ticks + 1
        self._quiet_ticks = 0 if self.spoke else self._quiet_ticks + 1
        self.heard = self.spoke = False
        if self._silent_ticks >= SILENT_TICKS_MAX:
            return Beat.GONE
        return Beat.SEND if self._quiet_ticks >= QUIET_TICKS_MAX else Beat.NOTHING
