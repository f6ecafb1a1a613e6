"""Reading a lot against both brokers: each message once, a bounded window at a time, and what is
not taken is in its place again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.lots import reading as module
from mqkit.lots.reading import HEADER_OCTETS, Window, reading
from mqkit.message import Delivery
from reference_broker.core.base.limits import UNACKED_MAX

pytestmark = pytest.mark.anyio

NUMBERS = [b"%d" % number for number in range(7)]


def is_even(delivery: Delivery) -> bool:
    return not int(delivery.body) % 2


def everything(delivery: Delivery) -> bool:
    return True


def bodies(window: list[Delivery]) -> list[bytes]:
    return [delivery.body for delivery in window]


async def test_windows_have_the_chosen_and_the_rest_stays_in_its_place(yard: Any) -> None:
    await yard.publish(yard.lot, *NUMBERS)
    async with reading(yard.link, yard.lot, "test") as reader:
        first = await reader.window(is_even, Window(2))
        await reader.ack([delivery.delivery_tag for delivery in first])
        second = await reader.window(is_even, Window(5))
        assert (bodies(first), bodies(second)) == ([b"0", b"2"], [b"4", b"6"])
        assert (reader.total, reader.seen, reader.is_over) == (7, 7, True)
        assert await reader.window(everything) == []
    assert await yard.bodies(yard.lot) == [b"1", b"3", b"4", b"5", b"6"]


async def test_a_window_is_bounded_in_octets(yard: Any) -> None:
    await yard.publish(yard.lot, *[b"x" * 100] * 5)
    async with reading(yard.link, yard.lot, "test") as reader:
        most = Window(octets=2 * (100 + HEADER_OCTETS))
        sizes = [len(await reader.window(everything, most)) for _ in range(4)]
    assert sizes == [2, 2, 1, 0]


async def test_more_than_memory_is_left_in_the_socket(
    yard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is paused, and goes on."""
    monkeypatch.setattr(module, "OCTETS_MAX", 200_000)
    await yard.publish(yard.lot, *[b"x" * 50_000] * 40)
    async with reading(yard.link, yard.lot, "test") as reader:
        found = await reader.window(everything)
        assert len(found) == 40
    assert len(await yard.bodies(yard.lot)) == 40


async def test_what_comes_later_is_left_for_later(yard: Any) -> None:
    await yard.publish(yard.lot, *NUMBERS[:2])
    async with reading(yard.link, yard.lot, "test") as reader:
        await yard.publish(yard.lot, *NUMBERS[2:])
        assert bodies(await reader.window(everything)) == NUMBERS[:2]
        assert await reader.window(everything) == []
    assert await yard.bodies(yard.lot) == NUMBERS


async def test_what_somebody_else_took_meanwhile_is_not_waited_for(yard: Any) -> None:
    await yard.publish(yard.lot, *NUMBERS)
    async with reading(yard.link, yard.lot, "test") as reader:
        assert len(await reader.window(everything, Window(2))) == 2
        assert await yard.bodies(yard.lot) == NUMBERS[2:]
        assert await reader.window(everything) == []
        assert (reader.total, reader.is_over) == (2, True)
    assert await yard.bodies(yard.lot) == NUMBERS[:2]


async def test_an_error_in_the_block_loses_nothing(yard: Any) -> None:
    await yard.publish(yard.lot, *NUMBERS)
    with pytest.raises(RuntimeError, match="stop"):
        async with reading(yard.link, yard.lot, "test") as reader:
            await reader.window(everything, Window(3))
            raise RuntimeError("stop")
    assert await yard.bodies(yard.lot) == NUMBERS


@pytest.mark.parametrize("share", [1, 2, 3])
async def test_a_lot_that_is_too_large_for_one_channel(
    yard: Any, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    """In order, settled on the channel that it came over, and the rest in its place."""
    monkeypatch.setattr(module, "SHARE", share)
    await yard.publish(yard.lot, *NUMBERS)
    async with reading(yard.link, yard.lot, "test") as reader:
        found = await reader.window(everything, Window(5))
        assert bodies(found) == NUMBERS[:5]
        await reader.ack([found[3].delivery_tag, found[0].delivery_tag])
        rest = await reader.window(everything)
        assert bodies(rest) == NUMBERS[5:]
        await reader.ack([rest[0].delivery_tag])
    assert await yard.bodies(yard.lot) == [b"1", b"2", b"4", b"6"]


def test_a_channel_of_the_reference_broker_may_hold_a_share() -> None:
    assert module.SHARE <= UNACKED_MAX


async def test_a_queue_that_is_not_there(yard: Any) -> None:
    with pytest.raises(ConfigurationError, match="there is no queue"):
        async with reading(replace(yard.link), f"{yard.name}.nobody", "test"):
            pass
