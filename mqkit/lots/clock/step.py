"""A deadline around each question to the broker: a connection that says nothing is as good as
gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mqkit.errors import DeadlineExceeded
from mqkit.timing.clock import Clock

STEP_S = 30.0
"""Longer than any answer of a broker that works, and a lot is never held for longer by one that
does not."""


@asynccontextmanager
async def step(clock: Clock, waited_for: str) -> AsyncIterator[None]:
    """Raises :exc:`~mqkit.errors.DeadlineExceeded`, with what was waited for, after
    :data:`STEP_S`."""
    try:
        async with clock.timeout(STEP_S):
            yield
    except TimeoutError as error:
        if isinstance(error, DeadlineExceeded):
            raise
        raise DeadlineExceeded(f"waited {STEP_S:g} s for {waited_for}") from None
