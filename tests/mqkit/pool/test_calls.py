from __future__ import annotations

import asyncio

import pytest

from mqkit.message import Message
from mqkit.outcome import Confirmed, Unknown
from mqkit.pool.batch import Batch
from mqkit.pool.calls import Calls
from mqkit.pool.terms import Terms
from mqkit.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


def batch() -> Batch:
    return Batch([Message("x", "k", b"")], Terms())


async def expired(*batches: Batch) -> list[bool]:
    for _ in range(5):
        await asyncio.sleep(0)  # whoever was woken runs
    return [each.done.done() for each in batches]


async def test_each_call_expires_at_its_own_deadline_in_whatever_order_they_began() -> None:
    clock = FakeClock()
    calls = Calls(clock)
    long, short, shorter = batch(), batch(), batch()
    for each, allowed_s in ((long, 30.0), (short, 5.0), (shorter, 1.0)):
        calls.begin(each, allowed_s)
        assert await expired(long, short, shorter) == [False, False, False]
    assert clock.waiting == 1  # one sleeper for all of them
    clock.advance(1.0)
    assert await expired(long, short, shorter) == [False, False, True]
    clock.advance(4.0)
    assert await expired(long, short, shorter) == [False, True, True]
    clock.advance(25.0)
    assert await expired(long) == [True]
    assert clock.waiting == 0
    calls.begin(again := batch(), 2.0)
    await expired()
    clock.advance(2.0)
    assert await expired(again) == [True]


async def test_no_time_at_all_is_over_at_once() -> None:
    calls = Calls(FakeClock())
    calls.begin(none := batch(), 0.0)
    assert await expired(none) == [True]
    [outcome] = none.outcomes("in no time")
    assert outcome == Unknown("the message was never sent in no time", sent=False)


async def test_what_has_ended_is_not_under_way_and_keeps_its_outcome() -> None:
    clock = FakeClock()
    calls = Calls(clock)
    settled = batch()
    number = calls.begin(settled, 5.0)
    settled.settle(0, (Confirmed("id"),))
    assert list(calls) == [settled]
    calls.end(number)
    calls.end(number)
    assert len(calls) == 0
    await expired()
    clock.advance(5.0)
    await expired()
    assert settled.outcomes("") == [Confirmed("id")]


async def test_deadlines_of_calls_that_are_over_are_not_piled_up() -> None:
    calls = Calls(FakeClock())
    waiting = [batch() for _ in range(10)]
    for each in waiting:
        calls.begin(each, 30.0)
    for _ in range(10_000):
        calls.end(calls.begin(batch(), 30.0))
    assert len(calls._deadlines) <= 100
    assert list(calls) == waiting


async def test_closed_it_expires_nothing() -> None:
    clock = FakeClock()
    calls = Calls(clock)
    calls.begin(pending := batch(), 1.0)
    await expired()
    calls.close()
    await expired()
    assert clock.waiting == 0
    clock.advance(1.0)
    assert await expired(pending) == [False]
