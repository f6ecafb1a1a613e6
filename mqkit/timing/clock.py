"""Time as something that is handed in: one clock for the machine, another for tests.

Everything in mqkit that waits takes a :class:`Clock`, so that no test needs to sleep
(:class:`mqkit.testing.clock.FakeClock`).
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Clock(Protocol):
    """Monotonic time, and waiting in it."""

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Return after ``delay_s`` seconds; at once when that is zero or less."""
        ...

    def timeout(self, delay_s: float | None) -> AbstractAsyncContextManager[object]:
        """Cancel the block after ``delay_s`` seconds and raise :exc:`TimeoutError` from it.

        ``None`` never does. Zero or less does at the block's first wait.
        """
        ...


class SystemClock:
    """The machine's monotonic clock, as the running event loop reads it."""

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(max(0.0, delay_s))

    def timeout(self, delay_s: float | None) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(None if delay_s is None else max(0.0, delay_s))


SYSTEM_CLOCK = SystemClock()
"""The clock of everything that was given none."""


class ThreadClock:
    """The machine's monotonic clock for who has no event loop: it is read, and nothing waits by
    it."""

    def monotonic_s(self) -> float:
        return time.monotonic()


def wall_ms() -> int:
    """Milliseconds since 1970 by the machine's clock, which may be set back: for moments that go to
    another process, and not for waiting."""
    return time.time_ns() // 1_000_000
