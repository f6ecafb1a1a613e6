"""The channel pool: bounds, exclusive lending, waiting, replacement, and the report of leaks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from mqkit.errors import Closed, ConnectionLost, DeadlineExceeded, PoolExhausted
from mqkit.message import Message
from mqkit.outcome import Confirmed
from mqkit.pool.channel_pool import ChannelPool
from mqkit.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

MESSAGE = Message("", "q", b"x")


class Opener:
    """Counts what the pool opens, and can be told to wait or to fail."""

    def __init__(self, new_channel: Callable[[], Any]) -> None:
        self._new_channel = new_channel
        self.channels: list[Any] = []
        self.may_open = asyncio.Event()
        self.may_open.set()
        self.error: Exception | None = None

    async def __call__(self) -> Any:
        await self.may_open.wait()
        if self.error is not None:
            raise self.error
        self.channels.append(self._new_channel())
        return self.channels[-1]

    @property
    def open_now(self) -> int:
        return sum(1 for channel in self.channels if channel.is_open)


@pytest.fixture
def opener(new_channel: Callable[[], Any]) -> Opener:
    return Opener(new_channel)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def pool_of(opener: Opener, clock: FakeClock, channels_max: int) -> ChannelPool:
    return ChannelPool(
        opener, channels_max=channels_max, borrow_timeout_s=15, settle_timeout_s=10, clock=clock
    )


async def test_a_returned_channel_is_lent_again(opener: Opener, clock: FakeClock) -> None:
    async with pool_of(opener, clock, 3) as pool:
        async with pool.borrow() as first:
            pass
        async with pool.borrow() as second:
            assert second is first
        assert pool.size == 1


async def test_filling_opens_ahead_and_again_after_a_loss(opener: Opener, clock: FakeClock) -> None:
    async with pool_of(opener, clock, 3) as pool:
        await pool.fill(2)
        assert len(opener.channels) == 2
        opener.channels[0].breaks(ConnectionLost("cut"))
        opener.channels[1].breaks(ConnectionLost("cut"))
        await pool.fill(9)
        assert opener.open_now == pool.size == 3


async def test_a_channel_is_never_lent_to_two(opener: Opener, clock: FakeClock) -> None:
    busy: list[object] = []

    async def use(pool: ChannelPool) -> None:
        async with pool.borrow() as channel:
            assert channel not in busy
            busy.append(channel)
            for _ in range(3):
                await asyncio.sleep(0)
            busy.remove(channel)

    async with pool_of(opener, clock, 3) as pool:
        await asyncio.gather(*(use(pool) for _ in range(50)))
        assert len(opener.channels) == 3


async def test_waiters_are_served_in_order(opener: Opener, clock: FakeClock) -> None:
    order: list[int] = []

    async def use(pool: ChannelPool, number: int) -> None:
        async with pool.borrow():
            order.append(number)
            await asyncio.sleep(0)

    async with pool_of(opener, clock, 1) as pool:
        await asyncio.gather(*(use(pool, number) for number in range(10)))
    assert order == list(range(10))


async def test_waiting_is_bounded_and_the_report_names_who_holds_them(
    opener: Opener, clock: FakeClock
) -> None:
    async with pool_of(opener, clock, 1) as pool, pool.borrow():
        waiting = asyncio.create_task(_borrow(pool, 5.0))
        await clock.until_waiting(1)
        clock.advance(5.0)
        with pytest.raises(PoolExhausted) as exhausted:
            await waiting
        assert "test_channel_pool.py" in str(exhausted.value)
        assert "test_waiting_is_bounded" in str(exhausted.value)
        [loan] = pool.lent()
        assert loan.held_s == 5.0
        assert "1 lent" in repr(pool)
    assert pool.lent() == ()


async def _borrow(pool: ChannelPool, timeout_s: float | None = None) -> object:
    async with pool.borrow(timeout_s) as channel:
        return channel


async def test_no_connection_within_the_time_is_a_deadline_not_exhaustion(
    opener: Opener, clock: FakeClock
) -> None:
    opener.may_open.clear()
    async with pool_of(opener, clock, 1) as pool:
        waiting = asyncio.create_task(_borrow(pool))
        await clock.until_waiting(1)
        clock.advance(15.0)
        with pytest.raises(DeadlineExceeded):
            await waiting
        opener.may_open.set()
        assert await _borrow(pool) is opener.channels[0]


async def test_what_opening_raises_reaches_the_borrower(opener: Opener, clock: FakeClock) -> None:
    opener.error = ConnectionLost("cut")
    async with pool_of(opener, clock, 1) as pool:
        with pytest.raises(ConnectionLost):
            await _borrow(pool)
        opener.error = None
        assert await _borrow(pool)


async def test_a_channel_with_open_confirms_is_lent_only_when_they_have_come(
    opener: Opener, clock: FakeClock
) -> None:
    async with pool_of(opener, clock, 1) as pool:
        async with pool.borrow() as channel:
            await channel.publish_many([MESSAGE])
        waiting = asyncio.create_task(_borrow(pool))
        await clock.until_waiting(2)
        assert not waiting.done()
        assert "1 settling" in repr(pool)
        opener.channels[0].answer(Confirmed())
        assert await waiting is channel


async def test_a_channel_whose_confirms_do_not_come_is_replaced(
    opener: Opener, clock: FakeClock
) -> None:
    async with pool_of(opener, clock, 1) as pool:
        async with pool.borrow() as channel:
            await channel.publish_many([MESSAGE])
        waiting = asyncio.create_task(_borrow(pool))
        await clock.until_waiting(2)
        clock.advance(10.0)
        assert await waiting is not channel
        assert opener.open_now == 1


async def test_a_broken_channel_is_replaced(opener: Opener, clock: FakeClock) -> None:
    async with pool_of(opener, clock, 1) as pool:
        async with pool.borrow() as channel:
            opener.channels[0].breaks(ConnectionLost("cut"))
        assert await _borrow(pool) is not channel
        opener.channels[1].breaks(ConnectionLost("cut"))  # while idle
        assert await _borrow(pool) is opener.channels[2]
        assert pool.size == 1


async def test_one_that_is_used_after_it_was_given_back_is_not_lent_meanwhile(
    opener: Opener, clock: FakeClock
) -> None:
    async with pool_of(opener, clock, 2) as pool:
        async with pool.borrow() as channel:
            pass
        await channel.publish_many([MESSAGE])
        async with pool.borrow() as other:
            assert other is not channel


async def test_a_cancelled_waiter_leaves_its_place(opener: Opener, clock: FakeClock) -> None:
    async with pool_of(opener, clock, 1) as pool:
        async with pool.borrow():
            waiting = asyncio.create_task(_borrow(pool))
            await clock.until_waiting(1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert await _borrow(pool)


async def test_a_waiter_cancelled_as_it_is_served_gives_the_channel_back(
    opener: Opener, clock: FakeClock
) -> None:
    async with pool_of(opener, clock, 1) as pool:
        stack = AsyncExitStack()
        await stack.enter_async_context(pool.borrow())
        waiting = asyncio.create_task(_borrow(pool))
        await clock.until_waiting(1)
        await stack.aclose()  # hands the channel over; the waiter has not run yet
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await _borrow(pool) is opener.channels[0]


async def test_closing_ends_waiting_and_closes_every_channel(
    opener: Opener, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    pool = pool_of(opener, clock, 1)
    async with pool.borrow():
        waiting = asyncio.create_task(_borrow(pool))
        await clock.until_waiting(1)
        await pool.close()
        with pytest.raises(Closed):
            await waiting
    assert opener.open_now == 0
    assert "test_closing_ends_waiting" in caplog.text
    with pytest.raises(Closed):
        await _borrow(pool)
