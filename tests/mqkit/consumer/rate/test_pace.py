"""The pace of handlers, by a clock that stands still."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.consumer.rate.pace import Pace
from mqkit.consumer.rate.rate import Rate
from mqkit.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


async def turns(pace: Pace, count: int) -> list[asyncio.Task[None]]:
    never = asyncio.Event()
    tasks = [asyncio.create_task(pace.turn(never)) for _ in range(count)]
    await pass_by()
    return tasks


async def pass_by() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_burst_and_then_one_for_each_interval() -> None:
    clock = FakeClock()
    tasks = await turns(Pace(Rate(20, 1), clock), 5)
    assert sum(task.done() for task in tasks) == 2
    for passed_s, done in ((0.04, 2), (0.02, 3), (0.03, 3), (0.02, 4), (0.03, 4), (0.02, 5)):
        clock.advance(passed_s)
        await pass_by()
        assert sum(task.done() for task in tasks) == done


async def test_the_end_is_not_waited_for() -> None:
    clock = FakeClock()
    pace = Pace(Rate(1, 3600), clock)
    ended = asyncio.Event()
    await pace.turn(ended)
    task = asyncio.create_task(pace.turn(ended))
    await clock.until_waiting(1)
    ended.set()
    async with asyncio.timeout(10):
        await task
        await pace.turn(ended)
