"""A clock that is moved by hand, for what takes the broker's timer.

clock = HandClock()
pause = Pause(clock.after)
clock.forward(0.5)
"""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.core.base.deadlines import Deadline, Deadlines
from reference_broker.core.work.budget import Budget

STEP_MS = 10
"""Milliseconds that a step of :meth:`HandClock.forward` is long, as buckets of deadlines are."""


class HandClock:
    """Time stands until :meth:`forward`. ``deadlines`` are what waits for it."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.deadlines = Deadlines()
        self._budget = Budget()

    def after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        """Call ``callback`` when ``delay_s`` seconds have passed."""
        return self.deadlines.at(self.now_ms + round(delay_s * 1000), callback)

    def forward(self, seconds: float) -> None:
        """Let time pass, and call what comes due, in its order."""
        end_ms = self.now_ms + round(seconds * 1000)
        self.deadlines.fire(self.now_ms, self._budget)
        while self.now_ms < end_ms:
            self.now_ms = min(self.now_ms + STEP_MS, end_ms)
            self.deadlines.fire(self.now_ms, self._budget)
