"""FastStream's ``RabbitBroker``, which is over aio-pika."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from faststream.rabbit import Channel, RabbitBroker, RabbitQueue
from pamqp.commands import Basic

from mqkit_bench.client.callers import in_event_loop, publish_each
from mqkit_bench.client.flight import Flight
from mqkit_bench.client.meter import Meter
from mqkit_bench.client.scenario import IN_FLIGHT, PREFETCH, Load, Play, Scenario
from mqkit_bench.client.tally import Tally

Handler = Callable[..., Awaitable[None]]


async def _publish(callers: int, url: str, load: Load, meter: Meter) -> int:
    async with RabbitBroker(url, logger=None) as broker:

        async def publish(body: bytes) -> bool:
            return isinstance(await broker.publish(body, load.queue, persist=True), Basic.Ack)

        meter.begin()
        confirmed = await publish_each(publish, load, callers)
        meter.end()
    return confirmed


async def _consume(
    make_handler: Callable[[Tally], Handler], url: str, load: Load, meter: Meter
) -> int:
    broker = RabbitBroker(url, logger=None, default_channel=Channel(prefetch_count=PREFETCH))
    tally = Tally(load.messages, meter)
    # It is acked when its handler has returned.
    broker.subscriber(RabbitQueue(load.queue, durable=True))(make_handler(tally))
    async with broker:
        await broker.start()
        await tally.done.wait()
    meter.end()  # it is stopped, so the broker has all acks
    return tally.counted


def _bytes_handler(tally: Tally) -> Handler:
    async def handle(body: bytes) -> None:
        tally.count()

    return handle


def _flight_handler(tally: Tally) -> Handler:
    async def handle(flight: Flight) -> None:
        tally.count()

    return handle


PLAYS: Mapping[Scenario, Play] = {
    **{
        scenario: in_event_loop(partial(_publish, callers))
        for scenario, callers in IN_FLIGHT.items()
    },
    Scenario.CONSUME_ACK: in_event_loop(partial(_consume, _bytes_handler)),
    Scenario.CONSUME_PYDANTIC: in_event_loop(partial(_consume, _flight_handler)),
}
