"""A token bucket: a burst is let through, then one for each interval."""

from __future__ import annotations

from typing import Protocol


class Monotonic(Protocol):
    """The half of a :class:`~mqkit.timing.clock.Clock` that a bucket reads."""

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...


class TokenBucket:
    """Full at first, with ``capacity`` tokens; one more every ``interval_s`` seconds, up to
    ``capacity``."""

    __slots__ = ("_at_s", "_capacity", "_clock", "_interval_s", "_tokens")

    def __init__(self, capacity: int, interval_s: float, clock: Monotonic) -> None:
        self._capacity = capacity
        self._interval_s = interval_s
        self._clock = clock
        self._tokens = float(capacity)
        self._at_s: float | None = None

    def take(self) -> bool:
        """Take a token; false when there is none."""
        now_s = self._clock.monotonic_s()
        if self._at_s is not None:
            grown = self._tokens + (now_s - self._at_s) / self._interval_s
            self._tokens = min(float(self._capacity), grown)
        self._at_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    @property
    def wait_s(self) -> float:
        """Seconds from the last :meth:`take` until there is a token; 0 if one is left."""
        return max(0.0, 1 - self._tokens) * self._interval_s
