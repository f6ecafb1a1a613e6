"""Backoff: growing waits between attempts, tenacity's exponential wait with full jitter.

Full jitter - anything between zero and the ceiling - spreads the clients of a restarted broker best
(https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). tenacity's own jitter
draws from the global generator; here it is handed in, so that a test can say what it draws.
"""

from __future__ import annotations

import random
from collections.abc import Callable


class Backoff:
    """Waits that grow from ``first_s`` to ``max_s``. ``rng`` gives numbers from 0 to 1."""

    def __init__(
        self, first_s: float, max_s: float, rng: Callable[[], float] = random.random
    ) -> None:
        # Not at the top: `import mqkit` is in every short-lived process, a backoff in few.
        from tenacity import RetryCallState, Retrying, wait_exponential

        self._ceiling_s = wait_exponential(multiplier=first_s, max=max_s)
        self._rng = rng
        self._attempts = RetryCallState(Retrying(), fn=None, args=(), kwargs={})

    def next_s(self) -> float:
        """The wait after one more failure, in seconds."""
        ceiling_s = self._ceiling_s(self._attempts)
        self._attempts.attempt_number += 1
        return ceiling_s * self._rng()

    def reset(self) -> None:
        """Start over from ``first_s``: an attempt has succeeded."""
        self._attempts.attempt_number = 1
