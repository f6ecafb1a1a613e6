"""Retry rules against brokers: tiers by exception, no message waits for another, giving up."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from mqkit import App, Delivery

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


class Busy(Exception):
    """An error that goes away soon."""


class StockBusy(Busy): ...


def tiers_behind(delivery: Delivery) -> list[str]:
    """The durations in the names of the tiers that the message came through last."""
    deaths = cast("list[dict[str, str]]", delivery.headers.get("x-death", []))
    return [death["queue"].rpartition(".")[2] for death in deaths]


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_each_exception_waits_in_the_tiers_of_its_own_rule(
    scene: Any, inbox: Any, transport: str
) -> None:
    rules = "{Busy: [10ms, 30ms], KeyError: park}"
    app: App = scene.app(
        f"{{retry: {{after: [20ms, 40ms], errors: {rules}}}}}", transport=transport
    )
    raised: list[Exception] = [StockBusy(), ValueError(), Busy()]

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(tiers_behind(delivery))
        raise raised[len(inbox.items) - 1]

    async with app:
        assert await app.publish("", scene.queue, b"")
        await inbox.until(3)
        await parked(scene)
    # The third failure is one more than the rule of Busy has times for: the count is one over all.
    assert inbox.items == [[], ["10ms"], ["40ms"]]
    assert (app.stats.retried, app.stats.parked) == (2, 1)


async def test_a_message_with_a_short_wait_does_not_wait_behind_one_with_a_long_one(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app("{retry: {after: [1h], errors: {Busy: [30ms]}}}")

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add((delivery.message_id, tiers_behind(delivery)))
        if delivery.message_id == "long":
            raise ValueError
        if not tiers_behind(delivery):
            raise Busy

    async with app:
        assert await app.publish("", scene.queue, b"", message_id="long")
        await inbox.until(1)
        assert await app.publish("", scene.queue, b"", message_id="short")
        await inbox.until(3)
    assert inbox.items == [("long", []), ("short", []), ("short", ["30ms"])]
    assert await scene.ready(f"{scene.queue}.retry.1h") == 1


async def test_growth_with_jitter_goes_round_and_ends(scene: Any, inbox: Any) -> None:
    app: App = scene.app("{retry: {from: 10ms, factor: 2, most: 30ms, times: 3, jitter: 0.5}}")

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(tiers_behind(delivery))
        raise ValueError

    async with app:
        assert await app.publish("", scene.queue, b"")
        await inbox.until(4)
        await parked(scene)
    allowed = [{"5ms", "10ms", "15ms"}, {"10ms", "20ms", "30ms"}, {"15ms", "30ms"}]
    assert inbox.items[0] == []
    for (tier,), fixed in zip(inbox.items[1:], allowed, strict=True):
        assert tier in fixed


async def test_a_message_is_parked_when_its_next_retry_would_end_too_late(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app("{retry: {after: [100ms, 100ms, 100ms], give_up_after: 150ms}}")

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(delivery)
        raise ValueError

    async with app:
        assert await app.publish("", scene.queue, b"")
        await parked(scene)
    assert len(inbox.items) == 2
    headers = (await lying_in(scene, scene.parked)).headers
    assert str(headers["x-mqkit-parked-reason"]).startswith("given up after 150ms (it first failed")
    assert headers["x-mqkit-attempt"] == 2


async def test_a_name_that_no_exception_has_is_told_at_the_start_once(
    scene: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rules = "{Busy: park, TimeoutErorr: [10ms]}"
    app: App = scene.app(f"{{retry: {{after: [10ms], errors: {rules}}}}}")
    for _ in range(2):

        @app.consumer(scene.queue)
        async def handle(body: bytes) -> None: ...

    async with app:
        await app.wait_ready(WAIT_S)
    told = [record.getMessage() for record in caplog.records if "retry rules" in record.msg]
    assert len(told) == 1
    assert f"the retry rules of {scene.queue} name 'TimeoutErorr'" in told[0]


async def parked(scene: Any) -> None:
    """Return when a message lies in the parking lot. Each look is a round trip to the broker."""
    async with asyncio.timeout(WAIT_S):
        while await scene.ready(scene.parked) != 1:
            pass


async def lying_in(scene: Any, queue: str) -> Delivery:
    channel = await scene.outside.channel()
    delivery = await channel.get(queue, no_ack=True)
    assert isinstance(delivery, Delivery)
    return delivery
