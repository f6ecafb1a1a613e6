"""Attempts as a handler sees them, on a broker."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit import App, Batch, Delivery
from mqkit.declaration import Binding, Exchange

pytestmark = pytest.mark.anyio

RETRY = "{retry: {after: [10ms, 20ms], then: park}}"


async def test_a_handler_knows_which_attempt_is_its_last(
    scene: Any, inbox: Any, new_inbox: Callable[[], Any], unique: Callable[[str], str]
) -> None:
    app: App = scene.app(RETRY)
    parked, exchange = new_inbox(), unique("events")
    channel = await scene.outside.channel()
    await channel.declare_exchange(Exchange(exchange, "topic"))
    begun_at = datetime.now(UTC)

    @app.consumer(scene.queue)
    async def handle(body: bytes, delivery: Delivery) -> None:
        inbox.add(delivery)
        raise ValueError("never works")

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        parked.add(delivery)

    async with app:
        await app.wait_ready(20)
        await channel.bind(Binding(exchange, scene.queue, "a.#"))
        assert await app.publish(exchange, "a.b", b"x")
        await parked.until(1)
    seen = [(each.attempt, each.attempts_left, each.is_last_attempt) for each in inbox.items]
    assert seen == [(1, 2, False), (2, 1, False), (3, 0, True)]
    for delivery in [*inbox.items, *parked.items]:
        assert (delivery.original_exchange, delivery.original_routing_key) == (exchange, "a.b")
    assert inbox.items[0].first_failure is None
    first_failures = {each.first_failure for each in [*inbox.items[1:], *parked.items]}
    assert len(first_failures) == 1
    assert begun_at <= first_failures.pop() <= datetime.now(UTC)
    assert (parked.items[0].attempt, parked.items[0].attempts_left) == (1, None)
    await channel.delete_exchange(exchange)
    await channel.close()


async def test_the_deliveries_of_a_batch_know_it_too(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.batch_consumer(scene.queue, size=2, within="5ms")
    async def handle(batch: Batch[bytes]) -> None:
        inbox.add([delivery.attempts_left for delivery in batch.deliveries])
        raise ValueError("never works")

    await scene.put(b"x")
    async with app:
        await inbox.until(3)
    assert inbox.items == [[2], [1], [0]]


async def test_the_items_of_a_batch_of_deliveries_know_it_too(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.batch_consumer(scene.queue, size=2, within="5ms")
    async def handle(batch: Batch[Delivery]) -> None:
        inbox.add([delivery.attempts_left for delivery in batch])
        raise ValueError("never works")

    await scene.put(b"x")
    async with app:
        await inbox.until(3)
    assert inbox.items == [[2], [1], [0]]
