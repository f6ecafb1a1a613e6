"""Promises of the asyncio adapters alone: quiescence, cancellation, and waiting for the socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from mqkit.declaration import Queue
from mqkit.errors import Closed
from mqkit.message import Message
from mqkit.outcome import Confirmed, Unknown
from mqkit.testing.proxy import FaultyProxy
from mqkit.transport.native import NativeTransport
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport
from mqkit.transport.seam import Connection, Transport
from mqkit.url import parse

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[AioPikaTransport, NativeTransport], ids=["aio-pika", "native"])
async def link(request: pytest.FixtureRequest, proxy: FaultyProxy) -> AsyncIterator[Connection]:
    transport: Transport = request.param()
    connection = await transport.connect(parse(proxy.url), name="t", timeout_s=10)
    yield connection
    await connection.close()


async def test_a_channel_is_quiescent_when_all_is_confirmed(
    link: Connection, proxy: FaultyProxy, name: str
) -> None:
    channel = await link.channel(confirms=True)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    await channel.wait_quiescent()
    proxy.stall()
    futures = await channel.publish_many([Message("", name, b"x")] * 5)
    assert channel.unconfirmed == 5
    waiting = asyncio.create_task(channel.wait_quiescent())
    proxy.resume()
    async with asyncio.timeout(10):
        await waiting
    assert channel.unconfirmed == 0
    assert [future.result() for future in futures] == [Confirmed()] * 5


async def test_a_closed_channel_is_quiescent_and_its_publishes_unknown(
    link: Connection, proxy: FaultyProxy, name: str
) -> None:
    channel = await link.channel(confirms=True)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    proxy.stall()
    [future] = await channel.publish_many([Message("", name, b"x")])
    waiting = asyncio.create_task(channel.wait_quiescent())
    proxy.cut()
    async with asyncio.timeout(10):
        await waiting
    assert isinstance(future.result(), Unknown)


async def test_a_cancelled_call_closes_its_channel_and_no_other(
    link: Connection, proxy: FaultyProxy, name: str
) -> None:
    channel, other = await link.channel(), await link.channel()
    closed: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    channel.on_closed(closed.set_result)
    proxy.stall()
    waiting = asyncio.create_task(channel.declare_queue(Queue(name, exclusive=True)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0)
    assert not channel.is_open
    proxy.resume()
    async with asyncio.timeout(10):
        assert await closed is None
    with pytest.raises(Closed):
        await channel.purge(name)
    await other.declare_queue(Queue(f"{name}-2", exclusive=True))


async def test_a_cancelled_future_does_not_disturb_the_others(link: Connection, name: str) -> None:
    channel = await link.channel(confirms=True)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    first, second = await channel.publish_many([Message("", name, b"x")] * 2)
    first.cancel()
    async with asyncio.timeout(10):
        assert await second == Confirmed()


BIG = b"x" * 1_000_000
MORE_THAN_BUFFERS_HOLD = 40
"""Megabytes: the socket buffers of this end, the proxy and the broker take a few each."""


@pytest.mark.parametrize(
    ("count", "size"), [(9, 3_000_000), (40, 1_000_000)], ids=["few and large", "many"]
)
async def test_publishing_waits_while_the_socket_is_full(
    link: Connection, proxy: FaultyProxy, name: str, count: int, size: int
) -> None:
    channel = await link.channel(confirms=True)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    proxy.stall()
    messages = [Message("", name, b"x" * size)] * count
    publishing = asyncio.create_task(channel.publish_many(messages))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await asyncio.shield(publishing)
    assert channel.unconfirmed > 0
    proxy.resume()
    async with asyncio.timeout(30):
        assert await asyncio.gather(*await publishing) == [Confirmed()] * len(messages)


async def test_a_full_socket_that_dies_leaves_everything_unknown(
    link: Connection, proxy: FaultyProxy, name: str
) -> None:
    channel = await link.channel(confirms=True)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    proxy.stall()
    messages = [Message("", name, BIG)] * MORE_THAN_BUFFERS_HOLD
    publishing = asyncio.create_task(channel.publish_many(messages))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await asyncio.shield(publishing)
    proxy.cut()
    async with asyncio.timeout(30):
        outcomes = await asyncio.gather(*await publishing)
    assert [type(outcome) for outcome in outcomes] == [Unknown] * len(messages)
    assert isinstance(outcomes[0], Unknown)
    assert isinstance(outcomes[-1], Unknown)
    assert "not sent" in outcomes[-1].detail
    assert not outcomes[-1].sent
    assert outcomes[0].sent


async def test_a_cancelled_publish_does_not_shift_the_confirms_of_later_ones(
    link: Connection, proxy: FaultyProxy, name: str
) -> None:
    channel = await link.channel(confirms=True)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    proxy.stall()
    messages = [Message("", name, BIG)] * MORE_THAN_BUFFERS_HOLD
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await channel.publish_many(messages)
    proxy.resume()
    async with asyncio.timeout(30):
        await channel.wait_quiescent()
        outcomes = await asyncio.gather(
            *await channel.publish_many(
                [Message("", f"{name}-nowhere", b""), Message("", name, b"")]
            )
        )
    assert [bool(outcome) for outcome in outcomes] == [False, True]
    assert channel.unconfirmed == 0


async def test_closing_a_stalled_connection_ends(
    link: Connection, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("over_aio_pika.connection", "native.over_asyncio.connection"):
        monkeypatch.setattr(f"mqkit.transport.{module}.CLOSE_TIMEOUT_S", 0.05)
    channel = await link.channel()
    proxy.stall()
    async with asyncio.timeout(30):
        await link.close()
    assert not link.is_open
    assert not channel.is_open
