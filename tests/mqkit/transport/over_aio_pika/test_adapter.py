"""Promises of the aio-pika adapter alone: borrowed connections, and pamqp's mistakes mended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aio_pika
import pytest

from mqkit.declaration import Queue
from mqkit.message import Message
from mqkit.outcome import Confirmed
from mqkit.testing.proxy import FaultyProxy
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport
from mqkit.transport.over_aio_pika.channel import AioPikaChannel
from mqkit.transport.seam import Connection
from mqkit.url import parse
from mqkit.wire import Properties as WireProperties
from mqkit.wire import body_frames, encode_header, header_frame, method_frame, methods

pytestmark = pytest.mark.anyio


@pytest.fixture
async def link(proxy: FaultyProxy) -> AsyncIterator[Connection]:
    connection = await AioPikaTransport().connect(parse(proxy.url), name="t", timeout_s=10)
    yield connection
    await connection.close()


async def test_properties_that_pamqp_cant_read_do_not_end_the_connection(
    link: Connection, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    channel = await link.channel(confirms=True)
    assert isinstance(channel, AioPikaChannel)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    latin_1 = encode_header(4, WireProperties(message_id="Gr@@e")).replace(b"@@", b"\xfc\xdf")
    number = channel._frames.number
    publish = method_frame(number, methods.BasicPublish("", name))
    await channel._frames.enqueue(
        publish + header_frame(number, latin_1) + b"".join(body_frames(number, b"body", 4096))
    )
    delivery = await channel.get(name)
    assert delivery is not None
    assert (delivery.body, delivery.message_id) == (b"body", None)
    assert delivery.properties.persistent
    assert "left out" in caplog.text
    assert link.is_open


async def test_channel_numbers_are_used_again(broker_url: str, name: str) -> None:
    theirs = await aio_pika.connect(broker_url)
    assert theirs.transport is not None
    link = AioPikaTransport.over(theirs)
    for _ in range(20):
        channel = await link.channel(confirms=True)
        [outcome] = await asyncio.gather(*await channel.publish_many([Message(name, "k", b"x")]))
        assert not outcome
        assert not channel.is_open
    for _ in range(20):
        await (await link.channel()).close()
    assert theirs.transport.connection.channels == {}
    await link.close()


async def test_it_works_over_a_connection_that_the_program_has(broker_url: str, name: str) -> None:
    theirs = await aio_pika.connect(broker_url)
    connection = AioPikaTransport.over(theirs)
    channel = await connection.channel(confirms=True)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    [outcome] = await asyncio.gather(*await channel.publish_many([Message("", name, b"x")]))
    assert outcome == Confirmed()
    async with theirs.channel() as own:
        assert (await own.get_queue(name)).name == name
    await theirs.close()
    assert not connection.is_open
    assert not channel.is_open
