"""The number of messages that a consumer has not settled: nothing at the end, whatever breaks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from mqkit import App, Batch, Delivery, Drop, Park, RetryLater, Settings
from mqkit.testing.proxy import FaultyProxy
from mqkit.topology import loads

pytestmark = pytest.mark.anyio

WAIT_S = 30.0
NUMBER = 200
CUTS = 4
KINDS: dict[str, dict[str, Any]] = {
    "one at a time": {},
    "by key": {"concurrency": 5, "partition_by": lambda delivery: delivery.message_id[-1]},
}


async def moody(delivery: Delivery, seen: set[bytes]) -> None:
    """Fails in every way, by the number of its message; not any more at a later attempt."""
    seen.add(delivery.body)
    if delivery.attempt > 1:
        return
    match int(delivery.body) % 10:
        case 1:
            raise ValueError("no")
        case 2:
            raise Park("bad")
        case 3:
            raise Drop
        case 4:
            raise RetryLater("10ms")
        case _:
            await asyncio.sleep(0)


@pytest.mark.parametrize("kind", [*KINDS, "batches"])
async def test_in_flight_is_nothing_at_the_end(
    broker: Any, unique: Callable[[str], str], kind: str
) -> None:
    queue = unique("orders")
    for other in (".parked", ".retry.10ms"):  # remembered, to be deleted
        unique(f"orders{other}")
    topology = loads(f"queues:\n  {queue}: {{retry: {{after: [10ms], then: park}}}}\n")
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    async with FaultyProxy.before(broker.url) as proxy:
        fast = Settings.load(urls=proxy.url, reconnect_first_s=0.01, reconnect_max_s=0.05)
        app = App(topology=topology, settings=fast)
        seen: set[bytes] = set()
        if kind == "batches":

            @app.batch_consumer(queue, size=20, within="50ms")
            async def handle_all(batch: Batch[Delivery]) -> None:
                for entry, delivery in zip(batch.entries, batch.deliveries, strict=True):
                    try:
                        await moody(delivery, seen)
                    except Exception as error:  # noqa: BLE001 - each message's own
                        entry.fail(error)
        else:

            @app.consumer(queue, **KINDS[kind])
            async def handle(delivery: Delivery) -> None:
                await moody(delivery, seen)

        async with app:
            numbers = [app.message("", queue, str(number)) for number in range(NUMBER)]
            publishing = asyncio.create_task(app.publish_batch(numbers, deadline=WAIT_S))
            for _ in range(CUTS):
                wanted = app.stats.delivered + rng.randrange(1, NUMBER // CUTS)
                async with asyncio.timeout(WAIT_S):
                    while app.stats.delivered < wanted and not publishing.done():  # noqa: ASYNC110
                        await asyncio.sleep(0)
                proxy.cut()
            assert all(await publishing)
            async with asyncio.timeout(WAIT_S):
                while len(seen) < NUMBER or app.stats.unsettled:
                    assert app.stats.unsettled >= 0
                    await asyncio.sleep(0)
            assert app.stats.delivered >= NUMBER
