"""The wall clock of a broker in a test: the machine's, until a test stops it and moves it on."""

from __future__ import annotations

from collections.abc import Callable

from mqkit.timing.clock import wall_ms

GRAIN_MS = 10
"""The broker's deadlines stand in buckets of so many milliseconds. The clock is stopped at the
beginning of one, so that a TTL of 10 s ends when the clock has moved by 10 s, and not 10 ms
later."""


class WallTime:
    """Milliseconds since 1970. Never goes back: a clock that was moved on and runs again is ahead
    of the machine's. For the broker's thread alone."""

    def __init__(self, machine_ms: Callable[[], int] = wall_ms) -> None:
        self._machine_ms = machine_ms
        self._ahead_ms = 0
        self._stopped_ms: int | None = None

    def now_ms(self) -> int:
        if self._stopped_ms is not None:
            return self._stopped_ms
        return self._machine_ms() + self._ahead_ms

    def stop(self) -> int:
        """Stand still, at the next grain. Returns the time. Idempotent."""
        if self._stopped_ms is None:
            self._stopped_ms = -(-self.now_ms() // GRAIN_MS) * GRAIN_MS
        return self._stopped_ms

    def move_to(self, time_ms: int) -> None:
        """Stand still at ``time_ms``, which has not been before the time now."""
        assert time_ms >= self.stop(), "time goes on"
        self._stopped_ms = time_ms

    def run(self) -> None:
        """Run on with the machine's clock, from the time now. Idempotent."""
        if self._stopped_ms is not None:
            self._ahead_ms = max(self._ahead_ms, self._stopped_ms - self._machine_ms())
            self._stopped_ms = None
