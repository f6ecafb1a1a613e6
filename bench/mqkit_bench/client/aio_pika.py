"""Plain aio-pika: what mqkit is compared with. Its leanest calls are taken: no message id, no
``message.process()``, no robust connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from pamqp.commands import Basic

from mqkit_bench.client.callers import in_event_loop, publish_batches, publish_each
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


async def _confirmed(channel: AbstractChannel, queue: str, body: bytes) -> bool:
    message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
    answer = await channel.default_exchange.publish(message, routing_key=queue)
    return isinstance(answer, Basic.Ack)


async def _publish(callers: int, url: str, load: Load, meter: Meter) -> int:
    async with await aio_pika.connect(url) as connection, connection.channel() as channel:
        meter.begin()
        confirmed = await publish_each(partial(_confirmed, channel, load.queue), load, callers)
        meter.end()
    return confirmed


async def _publish_batches(callers: int, url: str, load: Load, meter: Meter) -> int:
    body = load.body
    async with await aio_pika.connect(url) as connection, connection.channel() as channel:

        async def publish(size: int) -> int:
            publishes = (_confirmed(channel, load.queue, body) for _ in range(size))
            return sum(await asyncio.gather(*publishes))

        meter.begin()
        confirmed = await publish_batches(publish, load, callers)
        meter.end()
    return confirmed


async def _consume(
    decode: Callable[[bytes], object] | None,
    ack_every: int,
    url: str,
    load: Load,
    meter: Meter,
) -> int:
    tally = Tally(load.messages, meter)

    async def handle(message: AbstractIncomingMessage) -> None:
        tally.count()
        if decode is not None:
            decode(message.body)
        if tally.counted % ack_every == 0 or tally.counted == load.messages:
            await message.ack(multiple=ack_every > 1)

    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=PREFETCH)
        queue = await channel.get_queue(load.queue, ensure=False)
        tag = await queue.consume(handle)
        await tally.done.wait()
        await queue.cancel(tag)  # answered after all acks before it
        meter.end()
    return tally.counted


async def _consume_flights(url: str, load: Load, meter: Meter) -> int:
    from mqkit_bench.client.flight import Flight

    return await _consume(Flight.model_validate_json, 1, url, load, meter)


PLAYS: Mapping[Scenario, Play] = {
    **{
        scenario: in_event_loop(partial(_publish, callers))
        for scenario, callers in IN_FLIGHT.items()
    },
    **{
        scenario: in_event_loop(partial(_publish_batches, callers))
        for scenario, callers in BATCH_CALLERS.items()
    },
    Scenario.CONSUME_ACK: in_event_loop(partial(_consume, None, 1)),
    Scenario.CONSUME_ACK_BATCH: in_event_loop(partial(_consume, None, ACK_BATCH)),
    Scenario.CONSUME_PYDANTIC: in_event_loop(_consume_flights),
}
