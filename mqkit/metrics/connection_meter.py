"""The meter of an app's connections: how often they came and went, how long the broker blocked."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from mqkit.supervision.states import Change, Event, State

if TYPE_CHECKING:
    from mqkit.metrics.values import ConnectionMetrics


class ConnectionMeter:
    """Told of each change by the supervisor, and read from any thread."""

    def __init__(self, now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self._state = State.CLOSED
        self._connects = 0
        self._losses = 0
        self._blocked_s = 0.0
        self._blocked_since_s: float | None = None

    def begin(self) -> None:
        """The app is entered: it connects."""
        self._state = State.CONNECTING

    def end(self) -> None:
        """The app has ended. A start that failed early has told no change."""
        self._state = State.CLOSED

    def changed(self, change: Change) -> None:
        """The supervisor has made ``change``."""
        self._state = change.after
        self._connects += change.event is Event.CONNECTED
        self._losses += change.event is Event.LOST and change.before is not State.CONNECTING
        if change.after is State.BLOCKED:
            if self._blocked_since_s is None:
                self._blocked_since_s = self._now_s()
        elif self._blocked_since_s is not None:
            self._blocked_s += self._now_s() - self._blocked_since_s
            self._blocked_since_s = None

    @property
    def values(self) -> ConnectionMetrics:
        """The connections as they are now."""
        from mqkit.metrics.values import ConnectionMetrics  # who does not ask does not load it

        since_s = self._blocked_since_s
        blocked_for_s = 0.0 if since_s is None else self._now_s() - since_s
        return ConnectionMetrics(
            self._state,
            self._connects,
            self._losses,
            self._blocked_s + blocked_for_s,
            blocked_for_s,
        )
