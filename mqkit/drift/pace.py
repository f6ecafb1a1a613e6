"""The pace of a look: at most so many questions a second, so that a look of ten thousand objects
leaves the broker and the event loop to others."""

from __future__ import annotations

from mqkit.timing.clock import Clock
from mqkit.timing.token_bucket import TokenBucket

PORTION = 20
"""Questions that may follow each other at once: some 10 ms of a connection."""

WAIT_MIN_S = 0.001


class QuestionPace:
    """At most ``rate`` questions a second, over all looks of an app."""

    def __init__(self, rate: int, clock: Clock) -> None:
        self._clock = clock
        self._bucket = TokenBucket(min(PORTION, rate), 1 / rate, clock)

    async def take(self) -> None:
        """Return when one more question may be asked."""
        while not self._bucket.take():
            await self._clock.sleep(max(self._bucket.wait_s, WAIT_MIN_S))
