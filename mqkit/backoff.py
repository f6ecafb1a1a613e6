"""How long to wait before trying again: exponential, with full jitter.

Full jitter - anything between zero and the ceiling - spreads the clients of a restarted broker best
(https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
"""

from __future__ import annotations

import random
from collections.abc import Callable

_DOUBLINGS_MAX = 30  # 2 ** 30 times the first wait is beyond any ceiling; floats stay exact


class Backoff:
    """Waits that grow from ``first_s`` to ``max_s``. ``rng`` gives numbers from 0 to 1."""

    def __init__(
        self, first_s: float, max_s: float, rng: Callable[[], float] = random.random
    ) -> None:
        self._first_s = first_s
        self._max_s = max_s
        self._rng = rng
        self._failures = 0

    def next_s(self) -> float:
        """The wait after one more failure, in seconds."""
        ceiling_s = min(self._max_s, self._first_s * 2.0**self._failures)
        self._failures = min(self._failures + 1, _DOUBLINGS_MAX)
        return ceiling_s * self._rng()

    def reset(self) -> None:
        """It worked: the next failure starts over."""
        self._failures = 0
