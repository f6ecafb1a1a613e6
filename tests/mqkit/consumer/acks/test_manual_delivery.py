"""A delivery that is settled by its handler: once, and wholly."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from typing import Any, cast

import pytest

from mqkit import (
    ConfigurationError,
    Delivery,
    Drop,
    ManualDelivery,
    Park,
    RetryLater,
    StaleDelivery,
)
from mqkit.consumer.acks.manual_delivery import abandon, is_settled, settle_as
from mqkit.message import Properties

pytestmark = pytest.mark.anyio

ARRIVED = Delivery("x", "k", b"body", Properties(headers={"h": 1}, message_id="m"), 7, True, "tag")


class Settling:
    """Writes down what is settled; takes until it :attr:`may_end`."""

    def __init__(self, *, is_told: bool = True, may_end: bool = True) -> None:
        self.asked: list[Exception | None] = []
        self.ended = 0
        self.is_told = is_told
        self.may_end = asyncio.Event()
        if may_end:
            self.may_end.set()

    async def __call__(self, raised: Exception | None) -> bool:
        self.asked.append(raised)
        await self.may_end.wait()
        self.ended += 1
        return self.is_told


async def test_it_is_the_delivery_and_more() -> None:
    manual = ManualDelivery.of(ARRIVED, Settling())
    assert isinstance(manual, Delivery)
    for field in fields(Delivery):
        assert getattr(manual, field.name) == getattr(ARRIVED, field.name)
    assert (manual.headers, manual.message_id, manual.attempt) == ({"h": 1}, "m", 1)


async def test_each_word_settles_as_its_signal_would() -> None:
    settling = Settling()
    await ManualDelivery.of(ARRIVED, settling).ack()
    await ManualDelivery.of(ARRIVED, settling).retry("5s", "busy")
    await ManualDelivery.of(ARRIVED, settling).park("bad")
    await ManualDelivery.of(ARRIVED, settling).drop()
    acked, retried, parked, dropped = settling.asked
    assert acked is None
    assert isinstance(retried, RetryLater)
    assert (retried.after_ms, retried.reason) == (5000, "busy")
    assert isinstance(parked, Park)
    assert parked.reason == "bad"
    assert isinstance(dropped, Drop)


async def test_a_second_settling_is_an_error_and_does_nothing() -> None:
    settling = Settling()
    manual = ManualDelivery.of(ARRIVED, settling)
    await manual.ack()
    for settle in (manual.ack, manual.retry, manual.park, manual.drop):
        with pytest.raises(ConfigurationError, match="message m is settled already"):
            await settle()
    assert settling.asked == [None]


async def test_a_second_settling_is_an_error_while_the_first_goes_on() -> None:
    settling = Settling(may_end=False)
    manual = ManualDelivery.of(ARRIVED, settling)
    first = asyncio.create_task(manual.park())
    await asyncio.sleep(0)
    with pytest.raises(ConfigurationError, match="settled already"):
        await manual.ack()
    settling.may_end.set()
    await first


async def test_a_time_that_is_no_time_leaves_it_unsettled() -> None:
    settling = Settling()
    manual = ManualDelivery.of(ARRIVED, settling)
    with pytest.raises(ConfigurationError):
        await manual.retry(cast(Any, "soon"))
    assert not await is_settled(manual)
    await manual.retry("1s")
    assert await is_settled(manual)


async def test_a_channel_that_is_gone_is_an_error_and_the_end_of_it() -> None:
    manual = ManualDelivery.of(ARRIVED, Settling(is_told=False))
    with pytest.raises(StaleDelivery, match="message m is gone; the broker will deliver it again"):
        await manual.ack()
    with pytest.raises(ConfigurationError, match="settled already"):
        await manual.ack()


async def test_a_handler_that_is_cancelled_does_not_break_off_its_settling() -> None:
    settling = Settling(may_end=False)
    manual = ManualDelivery.of(ARRIVED, settling)
    handler = asyncio.create_task(manual.park())
    await asyncio.sleep(0)
    handler.cancel()
    with pytest.raises(asyncio.CancelledError):
        await handler
    waiting = asyncio.create_task(is_settled(manual))
    await asyncio.sleep(0)
    assert not waiting.done()
    settling.may_end.set()
    assert await waiting
    assert settling.ended == 1


async def test_the_end_of_the_program_breaks_it_off() -> None:
    settling = Settling(may_end=False)
    manual = ManualDelivery.of(ARRIVED, settling)
    abandon(manual)
    handler = asyncio.create_task(settle_as(manual, None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    abandon(manual)
    with pytest.raises(asyncio.CancelledError):
        await handler
    assert settling.ended == 0
