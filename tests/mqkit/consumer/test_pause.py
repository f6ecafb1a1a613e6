"""Slowing down when messages have nowhere to go but back."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.consumer.pause import PAUSE_FIRST_S, PAUSE_MAX_S, Pause
from mqkit.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


async def paused(pause: Pause, clock: FakeClock) -> asyncio.Task[None]:
    task = asyncio.create_task(pause.wait())
    await clock.until_waiting(1)
    return task


async def test_pauses_grow_to_the_ceiling_and_a_success_makes_them_short_again() -> None:
    clock = FakeClock()
    pause = Pause(clock=clock, rng=lambda: 1.0)
    for expected_s in (PAUSE_FIRST_S, 2 * PAUSE_FIRST_S, 4 * PAUSE_FIRST_S):
        task = await paused(pause, clock)
        clock.advance(expected_s - 0.001)
        assert not task.done()
        clock.advance(0.001)
        await task
    for _ in range(10):
        task = await paused(pause, clock)
        clock.advance(PAUSE_MAX_S)
        await task
    pause.reset()
    task = await paused(pause, clock)
    clock.advance(PAUSE_FIRST_S)
    await task


async def test_the_end_of_pauses_wakes_who_waits_and_who_comes_later() -> None:
    clock = FakeClock()
    pause = Pause(clock=clock, rng=lambda: 1.0)
    task = await paused(pause, clock)
    pause.end()
    await task
    await pause.wait()
