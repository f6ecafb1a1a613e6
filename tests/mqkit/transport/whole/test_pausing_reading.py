"""Connections that leave what arrives in the socket."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.declaration import Queue
from mqkit.message import Delivery, Message
from mqkit.transport.native import NativeTransport
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport
from mqkit.transport.seam import PausesReading, Transport
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


@pytest.mark.parametrize(
    "transport", [NativeTransport(), AioPikaTransport()], ids=["native", "aio-pika"]
)
async def test_nothing_arrives_until_reading_goes_on(
    transport: Transport, broker_url: str, name: str
) -> None:
    reads = await transport.connect(parse(broker_url), name="reads", timeout_s=WAIT_S)
    writes = await transport.connect(parse(broker_url), name="writes", timeout_s=WAIT_S)
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    try:
        assert isinstance(reads, PausesReading)
        publishing = await writes.channel(confirms=True)
        await publishing.declare_queue(Queue(name))
        consuming = await reads.channel()
        await consuming.consume(name, arrived.put_nowait, no_ack=True)
        for _ in range(2):
            reads.pause_reading()
        message = Message("", name, b"x")
        assert all(await asyncio.gather(*await publishing.publish_many([message] * 3)))
        while (await publishing.declare_queue(Queue(name), passive=True)).message_count:
            pass  # the broker has sent them when it counts none
        for _ in range(20):
            await publishing.declare_queue(Queue(name), passive=True)
        assert arrived.empty()
        for _ in range(2):
            reads.resume_reading()
        async with asyncio.timeout(WAIT_S):
            assert [(await arrived.get()).body for _ in range(3)] == [b"x"] * 3
        await publishing.delete_queue(name)
    finally:
        await reads.close()
        await writes.close()
    reads.pause_reading()  # of a connection that is closed
    reads.resume_reading()
