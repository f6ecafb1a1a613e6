"""The pace of a queue's handlers: a turn for each, no more turns than its rate."""

from __future__ import annotations

import asyncio

from mqkit.consumer.rate.rate import Rate
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.timing.token_bucket import TokenBucket

WAIT_MIN_S = 0.001
"""A shorter wait would be over before its time as often as after it."""


class Pace:
    """All consumers of a queue share one. Belongs to no event loop."""

    def __init__(self, rate: Rate, clock: Clock = SYSTEM_CLOCK) -> None:
        self.rate = rate
        self._clock = clock
        self._bucket = TokenBucket(rate.burst, rate.interval_s, clock)

    async def turn(self, ended: asyncio.Event) -> None:
        """Return when a handler may begin, or when ``ended`` is set: then no turn was taken."""
        while not ended.is_set() and not self._bucket.take():
            try:
                async with self._clock.timeout(max(WAIT_MIN_S, self._bucket.wait_s)):
                    await ended.wait()
            except TimeoutError:
                continue
