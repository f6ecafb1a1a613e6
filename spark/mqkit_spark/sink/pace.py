"""The rate of a task (``maxRate``): it waits before it hands messages over, not after."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from mqkit.timing.token_bucket import TokenBucket

BURST_S = 0.1
"""So many seconds' worth of messages go at once, after a pause too."""

PAUSE_S_MIN = 0.001
"""No shorter pause is worth a switch to another thread; nor does each move a clock."""


class Waiting(Protocol):
    """A clock, and waiting by it."""

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    def pause(self, delay_s: float) -> None:
        """Return after so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class SystemWaiting:
    """The machine's clock, and the thread's sleep."""

    def monotonic_s(self) -> float:
        """The machine's monotonic clock."""
        return time.monotonic()

    def pause(self, delay_s: float) -> None:
        """Sleep."""
        time.sleep(delay_s)


class Pace:
    """At most ``rate`` messages a second; ``None`` does not wait at all."""

    def __init__(self, rate: float | None, waiting: Waiting) -> None:
        self._waiting = waiting
        self._bucket: TokenBucket | None = None
        self.burst: int | None = None
        """The most messages to :meth:`wait` for at a time; ``None`` without a rate."""
        if rate is not None:
            self.burst = max(1, int(rate * BURST_S))
            self._bucket = TokenBucket(self.burst, 1 / rate, waiting)

    def wait(self, messages: int) -> None:
        """Return when so many messages may go."""
        if self._bucket is None:
            return
        for _ in range(messages):
            while not self._bucket.take():
                self._waiting.pause(max(self._bucket.wait_s, PAUSE_S_MIN))
