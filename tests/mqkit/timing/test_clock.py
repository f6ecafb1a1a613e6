"""Both clocks keep the same contract; the fake one moves only when told to."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.testing.clock import FakeClock
from mqkit.timing.clock import SYSTEM_CLOCK, Clock

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["system", "fake"])
def clock(request: pytest.FixtureRequest) -> Clock:
    return SYSTEM_CLOCK if request.param == "system" else FakeClock()


async def test_what_is_done_in_time_is_left_alone(clock: Clock) -> None:
    async with clock.timeout(1000):
        await clock.sleep(0)
    async with clock.timeout(None):
        await clock.sleep(-1)


async def test_no_time_at_all_ends_the_first_wait(clock: Clock) -> None:
    with pytest.raises(TimeoutError):
        async with clock.timeout(0):
            await asyncio.Event().wait()
    with pytest.raises(TimeoutError):
        async with clock.timeout(-1):
            await asyncio.Event().wait()


async def test_a_cancellation_from_outside_stays_one(clock: Clock) -> None:
    async def wait() -> None:
        async with clock.timeout(1000):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_sleepers_wake_when_they_are_due_and_in_order() -> None:
    clock, woken = FakeClock(), []

    async def sleep(delay_s: float) -> None:
        await clock.sleep(delay_s)
        woken.append(delay_s)

    tasks = [asyncio.create_task(sleep(delay_s)) for delay_s in (3.0, 1.0, 2.0)]
    await clock.until_waiting(3)
    clock.advance(2.0)
    await asyncio.gather(*tasks[1:])
    assert woken == [1.0, 2.0]
    assert clock.waiting == 1
    clock.advance(1.0)
    await tasks[0]
    assert clock.waiting == 0


async def test_a_timeout_in_fake_time_raises_when_it_is_due() -> None:
    clock = FakeClock()

    async def wait() -> None:
        async with clock.timeout(5.0):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await clock.until_waiting(1)
    clock.advance(4.9)
    await asyncio.sleep(0)
    assert not task.done()
    clock.advance(0.1)
    with pytest.raises(TimeoutError):
        await task
    assert clock.waiting == 0
