"""The pause of a consumer whose failed messages can only go back to their queue.

A message that is requeued comes back at once. Whoever handles it holds it for a while first,
longer after each failure in a row; a success ends the row.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from mqkit.timing.backoff import Backoff
from mqkit.timing.clock import SYSTEM_CLOCK, Clock

PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 30.0
"""A poisoned message comes back about this often at most; a repaired one waits no longer."""


class Pause:
    """One per consumer; any number of tasks may wait in it."""

    def __init__(
        self, *, clock: Clock = SYSTEM_CLOCK, rng: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._backoff = Backoff(PAUSE_FIRST_S, PAUSE_MAX_S, rng)
        self._ended = asyncio.Event()

    async def wait(self) -> None:
        """Return after the pause that one more failure costs, or when pauses end."""
        try:
            async with self._clock.timeout(self._backoff.next_s()):
                await self._ended.wait()
        except TimeoutError:
            return

    def reset(self) -> None:
        """A message was handled: the next pause is short again."""
        self._backoff.reset()

    def end(self) -> None:
        """No more pauses, from now on: the program is draining."""
        self._ended.set()
