"""A round by aio-pika: tiers by hand, and a handler that is limited by the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from pamqp.common import FieldTable

from interop.virtual_time import plot
from mqkit.testing.in_process.vhost import ReferenceBroker
from mqkit.testing.virtual_time.clock import VirtualClock


def round_by_aio_pika(broker: ReferenceBroker) -> tuple[plot.Happened, ...]:
    """Play one round on an empty virtual host."""
    return asyncio.run(_round(broker))


async def _round(broker: ReferenceBroker) -> tuple[plot.Happened, ...]:
    clock = broker.clock
    notes = plot.Notes(clock.monotonic_s)
    async with await aio_pika.connect(broker.url) as connection:
        channel = await connection.channel()
        await _declare(channel)
        await _consume(channel, plot.WORK, partial(_fail, channel, notes))
        await _consume(channel, plot.SLOW, partial(_hang, channel, notes, clock))
        for queue, name in (
            (plot.PARKED, "parked"),
            (plot.GIVEN_UP, "slow is given up"),
            (plot.EXPIRED, "expired"),
            (plot.DELAYED, "delayed"),
        ):
            await _consume(channel, queue, partial(_note, notes, name))
        for queue in (plot.WORK, plot.SLOW):
            await channel.default_exchange.publish(aio_pika.Message(b"x"), queue)
        short = aio_pika.Message(b"x", expiration=plot.EXPIRES_S)
        await channel.default_exchange.publish(short, plot.SHORT)
        later = await channel.get_exchange(plot.LATER, ensure=False)
        delayed = aio_pika.Message(b"x", headers={"x-delay": plot.DELAY_S * 1000})
        await later.publish(delayed, plot.DELAYED, mandatory=False)
        await clock.advance(plot.FIRST_PART_S)
        await clock.advance(plot.SECOND_PART_S)
    return notes.in_order()


async def _declare(channel: AbstractChannel) -> None:
    for name in (plot.WORK, plot.PARKED, plot.SLOW, plot.GIVEN_UP, plot.EXPIRED, plot.DELAYED):
        await channel.declare_queue(name)
    back: FieldTable = {"x-dead-letter-exchange": ""}
    for tier_s in plot.TIERS_S:
        tier: FieldTable = {
            "x-message-ttl": tier_s * 1000,
            "x-dead-letter-routing-key": plot.WORK,
            **back,
        }
        await channel.declare_queue(f"wait.{tier_s}", arguments=tier)
    expired: FieldTable = {"x-dead-letter-routing-key": plot.EXPIRED, **back}
    await channel.declare_queue(plot.SHORT, arguments=expired)
    later = await channel.declare_exchange(
        plot.LATER, plot.EXCHANGE_TYPE, arguments={"x-delayed-type": "direct"}
    )
    await (await channel.get_queue(plot.DELAYED, ensure=False)).bind(later, plot.DELAYED)


async def _consume(
    channel: AbstractChannel, queue: str, take: Callable[[AbstractIncomingMessage], Awaitable[None]]
) -> None:
    await (await channel.get_queue(queue, ensure=False)).consume(take)


async def _fail(
    channel: AbstractChannel, notes: plot.Notes, message: AbstractIncomingMessage
) -> None:
    notes.note("attempt")
    failures = int(str(message.headers.get("failures", 0)))
    last = failures == len(plot.TIERS_S)
    goal = plot.PARKED if last else f"wait.{plot.TIERS_S[failures]}"
    again = aio_pika.Message(message.body, headers={"failures": failures + 1})
    await channel.default_exchange.publish(again, goal)
    await message.ack()


async def _hang(
    channel: AbstractChannel,
    notes: plot.Notes,
    clock: VirtualClock,
    message: AbstractIncomingMessage,
) -> None:
    notes.note("slow begins")
    try:
        async with clock.timeout(plot.LIMIT_S):
            await asyncio.Event().wait()
    except TimeoutError:
        await channel.default_exchange.publish(aio_pika.Message(message.body), plot.GIVEN_UP)
        await message.ack()


async def _note(notes: plot.Notes, name: str, message: AbstractIncomingMessage) -> None:
    notes.note(name)
    await message.ack()
