"""A retry that really waits, against both brokers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit.message import Delivery
from mqkit.retry import to_tier
from mqkit.retry.headers import ATTEMPT, Failure

pytestmark = pytest.mark.anyio

FAILURE = Failure("ValueError", "oops", datetime(2025, 1, 2, tzinfo=UTC))


async def one(bench: Any, queue: str) -> Delivery:
    """The next message of ``queue``, waiting for it."""
    channel = await bench.connection.channel()
    arrived: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()

    def on_delivery(delivery: Delivery) -> None:
        if not arrived.done():
            arrived.set_result(delivery)

    await channel.consume(queue, on_delivery, no_ack=True)
    async with asyncio.timeout(20):
        delivery = await arrived
    await channel.close()
    return delivery


async def test_a_message_in_a_tier_comes_back_to_its_queue_and_only_once(bench: Any) -> None:
    await bench.publish(bench.name, b"body", message_id="m1", headers={"CC": [bench.lot]})
    assert await bench.bodies(bench.lot) == [b"body"]
    for attempt in (1, 2, 3):
        delivery = await one(bench, bench.name)
        assert delivery.headers.get(ATTEMPT, 0) == attempt - 1
        message = to_tier(delivery, bench.name, 50, FAILURE)
        channel = await bench.connection.channel(confirms=True)
        (confirmed,) = await channel.publish_many([message])
        assert await confirmed
    last = await one(bench, bench.name)
    assert (last.body, last.message_id, last.headers[ATTEMPT]) == (b"body", "m1", 3)
    assert await bench.bodies(bench.lot) == []
    assert await bench.bodies(bench.name) == []
