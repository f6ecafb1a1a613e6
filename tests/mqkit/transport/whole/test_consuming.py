"""The options of a consumer, through all adapters: exclusive, and the consume arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ChannelError, ConfigurationError
from mqkit.message import Delivery, Message
from mqkit.transport.seam import Channel, Connection

pytestmark = pytest.mark.anyio

WAIT_S = 10.0


async def publish(channel: Channel, queue: str, *bodies: bytes) -> None:
    async with asyncio.timeout(WAIT_S):
        messages = [Message("", queue, body) for body in bodies]
        assert all(await asyncio.gather(*await channel.publish_many(messages)))


async def test_the_consumer_of_the_higher_priority_gets_the_messages(
    connection: Connection, channel: Channel, queue: str
) -> None:
    taken: dict[int, asyncio.Queue[Delivery]] = {}
    for priority in (-3, 10, 0):
        taken[priority] = asyncio.Queue()
        consuming = await connection.channel()
        await consuming.consume(
            queue, taken[priority].put_nowait, arguments={"x-priority": priority}
        )
    await publish(channel, queue, *(b"%d" % number for number in range(20)))
    async with asyncio.timeout(WAIT_S):
        bodies = [(await taken[10].get()).body for _ in range(20)]
    assert bodies == [b"%d" % number for number in range(20)]
    assert taken[0].empty()
    assert taken[-3].empty()


async def test_an_argument_that_the_broker_refuses_is_406(
    connection: Connection, queue: str
) -> None:
    consuming = await connection.channel()
    with pytest.raises(ChannelError, match="x-priority") as refused:
        await consuming.consume(queue, print, arguments={"x-priority": "high"})
    assert refused.value.reply_code == 406


@pytest.mark.parametrize(
    "arguments", [{"x": object()}, {"x": 2**64}, {"x": [{"deep": object()}]}, {"n" * 256: 1}]
)
async def test_arguments_that_amqp_cant_carry_start_nothing(
    connection: Connection, channel: Channel, queue: str, arguments: Mapping[str, object]
) -> None:
    consuming = await connection.channel()
    with pytest.raises(ConfigurationError):
        await consuming.consume(queue, print, arguments=arguments, consumer_tag="mine")
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    assert await consuming.consume(queue, arrived.put_nowait, consumer_tag="mine") == "mine"
    await publish(channel, queue, b"x")
    async with asyncio.timeout(WAIT_S):
        assert (await arrived.get()).body == b"x"


async def test_an_exclusive_consumer_is_the_only_one(
    connection: Connection, channel: Channel, queue: str
) -> None:
    first = await connection.channel()
    tag = await first.consume(queue, print, exclusive=True)
    for exclusive in (False, True):
        second = await connection.channel()
        with pytest.raises(ChannelError, match="in exclusive use") as refused:
            await second.consume(queue, print, exclusive=exclusive)
        assert refused.value.reply_code == 403
    await first.cancel(tag)
    third = await connection.channel()
    await third.consume(queue, print, exclusive=True)
    assert (await third.declare_queue(Queue(queue), passive=True)).consumer_count == 1
