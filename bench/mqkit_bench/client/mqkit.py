"""mqkit as a program uses it: an :class:`mqkit.App` over one of its asyncio transports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from mqkit import App, Batch
from mqkit_bench.client.callers import in_event_loop, publish_batches, publish_each
from mqkit_bench.client.flight import Flight
from mqkit_bench.client.meter import Meter
from mqkit_bench.client.scenario import (
    ACK_BATCH,
    BATCH_CALLERS,
    IN_FLIGHT,
    PREFETCH,
    Load,
    Play,
    Scenario,
)
from mqkit_bench.client.tally import Tally

READY_TIMEOUT_S = 10.0
BATCH_WITHIN_S = 0.05
"""The last batch may be a smaller one."""


async def _publish(transport: str, callers: int, url: str, load: Load, meter: Meter) -> int:
    async with App(url, transport=transport) as app:
        await app.wait_ready(READY_TIMEOUT_S)

        async def publish(body: bytes) -> bool:
            return bool(await app.publish("", load.queue, body))

        meter.begin()
        confirmed = await publish_each(publish, load, callers)
        meter.end()
    return confirmed


async def _publish_batches(transport: str, callers: int, url: str, load: Load, meter: Meter) -> int:
    body = load.body
    async with App(url, transport=transport) as app:
        await app.wait_ready(READY_TIMEOUT_S)

        async def publish(size: int) -> int:
            batch = [app.message("", load.queue, body) for _ in range(size)]
            return sum(map(bool, await app.publish_batch(batch)))

        meter.begin()
        confirmed = await publish_batches(publish, load, callers)
        meter.end()
    return confirmed


async def _consume(
    register: Callable[[App, Load, Tally], None],
    transport: str,
    url: str,
    load: Load,
    meter: Meter,
) -> int:
    app = App(url, transport=transport)
    tally = Tally(load.messages, meter)
    register(app, load, tally)
    async with app:
        await tally.done.wait()
    meter.end()  # the app has closed its channels, so the broker has all acks
    return app.stats.acked


def _bytes_handler(app: App, load: Load, tally: Tally) -> None:
    @app.consumer(load.queue, prefetch=PREFETCH)
    async def handle(body: bytes) -> None:
        tally.count()


def _flight_handler(app: App, load: Load, tally: Tally) -> None:
    @app.consumer(load.queue, prefetch=PREFETCH)
    async def handle(flight: Flight) -> None:
        tally.count()


def _batch_handler(app: App, load: Load, tally: Tally) -> None:
    @app.batch_consumer(load.queue, size=ACK_BATCH, within=BATCH_WITHIN_S)
    async def handle(batch: Batch[bytes]) -> None:
        tally.count(len(batch))


def _plays(transport: str) -> Mapping[Scenario, Play]:
    consuming = {
        Scenario.CONSUME_ACK: _bytes_handler,
        Scenario.CONSUME_ACK_BATCH: _batch_handler,
        Scenario.CONSUME_PYDANTIC: _flight_handler,
    }
    return {
        **{
            scenario: in_event_loop(partial(_publish, transport, callers))
            for scenario, callers in IN_FLIGHT.items()
        },
        **{
            scenario: in_event_loop(partial(_publish_batches, transport, callers))
            for scenario, callers in BATCH_CALLERS.items()
        },
        **{
            scenario: in_event_loop(partial(_consume, register, transport))
            for scenario, register in consuming.items()
        },
    }


NATIVE = _plays("native")
OVER_AIO_PIKA = _plays("aio-pika")
