"""An inbox with a pace: what waits for its turn can still be given back."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from mqkit.consumer.rate.pace import WAIT_MIN_S, Pace
from mqkit.consumer.rate.paced_inbox import PacedInbox
from mqkit.consumer.rate.rate import Rate
from mqkit.consumer.settlement_steps import Arrival
from mqkit.message import Delivery, Properties
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import Channel

pytestmark = pytest.mark.anyio

INTERVAL_S = 60.0


def arrival(tag: int) -> Arrival:
    return Arrival(cast(Channel, None), Delivery("", "q", b"", Properties(), tag, False))


def inbox_of(*tags: int) -> tuple[PacedInbox, FakeClock]:
    clock = FakeClock()
    inbox = PacedInbox(Pace(Rate(1, INTERVAL_S), clock))
    for tag in tags:
        inbox.put_nowait(arrival(tag))
    return inbox, clock


def tag_of(taken: Arrival | None) -> int:
    assert taken is not None
    return taken.delivery.delivery_tag


async def test_each_waits_for_its_turn_in_order() -> None:
    inbox, clock = inbox_of(1, 2, 3)
    assert tag_of(await inbox.get()) == 1
    waiting = [asyncio.create_task(inbox.get()) for _ in range(2)]
    for place, tag in enumerate((2, 3)):
        await clock.until_waiting(1)
        assert not waiting[place].done()
        clock.advance(INTERVAL_S + WAIT_MIN_S)
        assert tag_of(await waiting[place]) == tag
    assert inbox.empty()


async def test_what_waits_for_its_turn_can_be_taken_back() -> None:
    inbox, clock = inbox_of(1, 2, 3)
    await inbox.get()
    waiting = asyncio.create_task(inbox.get())
    await clock.until_waiting(1)
    assert not inbox.empty()
    assert [tag_of(inbox.get_nowait()), tag_of(inbox.get_nowait())] == [2, 3]
    assert inbox.empty()
    inbox.put_nowait(None)  # the end needs no turn
    async with asyncio.timeout(10):
        assert await waiting is None


async def test_an_empty_inbox_uses_up_no_turn() -> None:
    inbox, clock = inbox_of()
    waiting = asyncio.create_task(inbox.get())
    for _ in range(5):
        await asyncio.sleep(0)
    inbox.put_nowait(arrival(1))
    async with asyncio.timeout(10):
        assert tag_of(await waiting) == 1
    assert clock.waiting == 0
