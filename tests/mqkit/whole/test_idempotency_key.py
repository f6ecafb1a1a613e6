"""An idempotency key on its whole way: a retry tier, the parking lot, and a replay from there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from mqkit import App, Delivery
from mqkit.lots import Choice, LotLink, peek
from mqkit.lots.replay import ReplayRequest, replay
from mqkit.topology import loads
from mqkit.transport.choice import TRANSPORTS, chosen
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_key_is_the_same_at_every_attempt(
    broker: Any, unique: Callable[[str], str], transport: str
) -> None:
    queue = unique("queue")
    unique("queue.retry.20ms")
    unique("queue.parked")
    topology = loads(f"queues:\n  {queue}: {{retry: {{after: [20ms], then: park}}}}\n")
    app = App(broker.url, topology, transport=transport)
    keys: asyncio.Queue[tuple[str | None, str | None]] = asyncio.Queue()
    replayed = False

    @app.consumer(queue)
    async def handle(delivery: Delivery) -> None:
        keys.put_nowait((delivery.idempotency_key, delivery.message_id))
        if not replayed:
            raise ValueError("not yet")

    link = LotLink(parse(broker.url), WAIT_S, transport=chosen(transport))
    async with asyncio.timeout(WAIT_S), app:
        assert await app.publish("", queue, b"", message_id="m", idempotency_key="order-7")
        assert [await keys.get() for _ in range(2)] == [("order-7", "m")] * 2
        while not (parked := await peek(link, f"{queue}.parked", Choice())):
            pass
        assert parked[0].delivery.idempotency_key == "order-7"
        replayed = True
        report = await replay(link, ReplayRequest(f"{queue}.parked"))
        assert report.replayed == 1
        assert await keys.get() == ("order-7", "m")
