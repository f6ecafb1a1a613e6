"""Channels in transaction mode, of both asyncio adapters, on both brokers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.message import Message, Properties
from mqkit.outcome import Unknown
from mqkit.testing.proxy import FaultyProxy
from mqkit.transport.native import NativeTransport
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport
from mqkit.transport.seam import (
    Channel,
    Connection,
    OpensTransactions,
    TransactionalChannel,
    Transport,
)
from mqkit.url import parse

pytestmark = pytest.mark.anyio
WAIT_S = 20.0
TRANSPORTS = {"aio-pika": AioPikaTransport, "native": NativeTransport}


@pytest.fixture(params=sorted(TRANSPORTS))
def transport(request: pytest.FixtureRequest) -> Transport:
    made: Transport = TRANSPORTS[request.param]()
    return made


@pytest.fixture
async def connection(transport: Transport, broker_url: str) -> AsyncIterator[Connection]:
    connection = await transport.connect(parse(broker_url), name="tx", timeout_s=WAIT_S)
    yield connection
    await connection.close()


@pytest.fixture(params=["classic", "quorum"])
async def queues(
    request: pytest.FixtureRequest, connection: Connection, unique: Callable[[str], str]
) -> tuple[str, str]:
    """A queue with three messages, and an empty one."""
    kind = {"x-queue-type": request.param}
    channel = await connection.channel(confirms=True)
    full, empty = unique("full"), unique("empty")
    for name in (full, empty):
        await channel.declare_queue(Queue(name, arguments=kind))
    messages = [Message("", full, b"%d" % n, Properties(message_id=str(n))) for n in range(3)]
    await asyncio.gather(*await channel.publish_many(messages))
    return full, empty


async def opened(connection: Connection) -> TransactionalChannel:
    assert isinstance(connection, OpensTransactions)
    return await connection.transactional_channel()


async def depth(connection: Connection, queue: str) -> int:
    channel = await connection.channel()
    state = await channel.declare_queue(Queue(queue), passive=True)
    await channel.close()
    return state.message_count


async def move_one(channel: Channel, source: str, to: str) -> None:
    delivery = await channel.get(source)
    assert delivery is not None
    message = Message("", to, delivery.body, delivery.properties)
    (outcome,) = await channel.publish_many([message])
    assert isinstance(await outcome, Unknown)
    await channel.ack(delivery.delivery_tag)


async def bodies(connection: Connection, queue: str, count: int) -> list[bytes]:
    channel = await connection.channel()
    found: list[bytes] = []
    async with asyncio.timeout(WAIT_S):
        while len(found) < count:  # what a closed channel gives back takes a moment
            delivery = await channel.get(queue, no_ack=True)
            if delivery is not None:
                found.append(delivery.body)
    return found


async def test_a_commit_moves_all_of_it(connection: Connection, queues: tuple[str, str]) -> None:
    source, to = queues
    channel = await opened(connection)
    for _ in range(2):
        await move_one(channel, source, to)
    assert await depth(connection, to) == 0
    assert await channel.commit() == []
    assert (await depth(connection, source), await depth(connection, to)) == (1, 2)
    await move_one(channel, source, to)
    assert await channel.commit() == []
    assert await bodies(connection, to, 3) == [b"0", b"1", b"2"]


async def test_a_channel_that_is_closed_before_has_done_nothing(
    connection: Connection, queues: tuple[str, str]
) -> None:
    source, to = queues
    channel = await opened(connection)
    await move_one(channel, source, to)
    await channel.close()
    assert sorted(await bodies(connection, source, 3)) == [b"0", b"1", b"2"]
    assert await depth(connection, to) == 0


async def test_a_connection_that_is_cut_before_has_done_nothing(
    transport: Transport, proxy: FaultyProxy, connection: Connection, queues: tuple[str, str]
) -> None:
    source, to = queues
    cut = await transport.connect(parse(proxy.url), name="tx", timeout_s=WAIT_S)
    channel = await opened(cut)
    await move_one(channel, source, to)
    proxy.cut()
    assert sorted(await bodies(connection, source, 3)) == [b"0", b"1", b"2"]
    assert await depth(connection, to) == 0
    await cut.close()


async def test_a_commit_tells_what_no_queue_took(
    connection: Connection, queues: tuple[str, str], unique: Callable[[str], str]
) -> None:
    source, to = queues
    channel = await opened(connection)
    await move_one(channel, source, unique("nowhere"))
    await move_one(channel, source, to)
    (returned,) = await channel.commit()
    assert (returned.body, returned.properties.message_id) == (b"0", "0")
    # Its ack was done all the same: that is why somebody has to be told.
    assert (await depth(connection, source), await depth(connection, to)) == (1, 1)
    assert await channel.commit() == []


async def test_a_full_queue_that_rejects_fails_the_commit(
    connection: Connection, unique: Callable[[str], str]
) -> None:
    full = unique("rejecting")
    limits = {"x-max-length": 0, "x-overflow": "reject-publish"}
    declaring = await connection.channel()
    await declaring.declare_queue(Queue(full, arguments=limits))
    channel = await opened(connection)
    await channel.publish_many([Message("", full, b"x")])
    with pytest.raises(ChannelError) as refused:
        await channel.commit()
    assert refused.value.reply_code == 406
