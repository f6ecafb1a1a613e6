"""Timers of the event loop: the type of a pending call, and the one timer that ticks the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that the event loop's ``call_later`` has promised."""

    def cancel(self) -> None:
        """Call no more. Idempotent."""


CallLater = Callable[[float, Callable[[], None]], Timer]
"""``call_later`` of an event loop: seconds, and the function to call then."""


CallAt = Callable[[float, Callable[[], None]], Timer]
"""``call_at`` of an event loop: the time by its clock, and the function to call then."""


class TickTimer:
    """At most one ``call_at`` of the loop is pending, for the soonest time that was asked for.

    A tick that comes early is harmless, so a later time never moves it. The time is kept here:
    uvloop's handle for a time that has passed is no ``TimerHandle`` and has no ``when``.
    """

    def __init__(self, call_at: CallAt, tick: Callable[[], None]) -> None:
        self._call_at = call_at
        self._tick = tick
        self._pending: tuple[float, Timer] | None = None

    def arm(self, at: float | None) -> None:
        """Call ``tick`` at ``at`` (the loop's time) or before; ``None`` asks for nothing."""
        if at is None:
            return
        if self._pending is not None:
            due, handle = self._pending
            if due <= at:
                return
            handle.cancel()
        self._pending = (at, self._call_at(at, self._fire))

    def cancel(self) -> None:
        """Tick no more, until armed again."""
        if self._pending is not None:
            self._pending[1].cancel()
            self._pending = None

    def _fire(self) -> None:
        self._pending = None
        self._tick()
