"""The pulse of an event loop: each second it writes down the moment, for other threads to read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

EVERY_S = 1.0


class Pulse:
    """Begins to beat on the running loop with :meth:`begin`; stands still, at age zero, before and
    after."""

    def __init__(self, now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self._beat_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Beat from now on."""
        self._beat_s = self._now_s()
        self._timer = asyncio.get_running_loop().call_later(EVERY_S, self.begin)

    def end(self) -> None:
        """Beat no more. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._beat_s = None

    @property
    def age_s(self) -> float:
        """Seconds since the last beat. On any thread."""
        beat_s = self._beat_s
        return 0.0 if beat_s is None else self._now_s() - beat_s
