"""One object deleted, if it is empty and unused then."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.errors import ChannelError
from mqkit.message import Message
from mqkit.topology.planning.deletion import Deletion, delete
from mqkit.topology.throwaway import ThrowAwayChannel
from mqkit.transport.native import NativeTransport

pytestmark = pytest.mark.anyio
TIMEOUT_S = 30.0
TYPES = ("classic", "quorum")


async def filled(bench: Any, queue: Queue, count: int) -> None:
    """Have ``queue``, with so many messages."""
    connection = await NativeTransport().connect(bench.endpoint, name="t", timeout_s=TIMEOUT_S)
    channel = await connection.channel(confirms=True)
    await channel.declare_queue(queue)
    await asyncio.gather(*await channel.publish_many([Message("", queue.name, b"")] * count))
    await connection.close()


@pytest.mark.parametrize("kind", TYPES)
async def test_a_queue_goes_when_it_is_empty(bench: Any, kind: str) -> None:
    queue = Queue(f"{bench.prefix}.q", arguments={"x-queue-type": kind})
    await filled(bench, queue, 2)
    async with ThrowAwayChannel(bench.open_channel) as channel:
        assert await delete(queue, channel) == Deletion(
            False, "kept: it has 2 messages, 0 consumers now"
        )
        await channel.run(lambda on: on.purge(queue.name))
        assert await delete(queue, channel) == Deletion(True, "deleted, empty")
        assert await delete(queue, channel) == Deletion(True, "gone already")


@pytest.mark.parametrize("kind", TYPES)
async def test_a_forced_one_goes_with_its_messages(bench: Any, kind: str) -> None:
    queue = Queue(f"{bench.prefix}.q", arguments={"x-queue-type": kind})
    await filled(bench, queue, 2)
    async with ThrowAwayChannel(bench.open_channel) as channel:
        assert (await delete(queue, channel, forced=True)).is_done
        with pytest.raises(ChannelError):
            await channel.run(lambda on: on.declare_queue(queue, passive=True))


async def test_an_exchange_goes_when_nothing_is_bound_to_it(bench: Any) -> None:
    x, queue = Exchange(f"{bench.prefix}.x"), Queue(f"{bench.prefix}.q")
    binding = Binding(x.name, queue.name, "k")
    async with ThrowAwayChannel(bench.open_channel) as channel:
        for declaration in (x, queue, binding):
            await channel.declare(declaration)
        kept = await delete(x, channel)
        assert not kept.is_done
        assert (await delete(binding, channel)).words == "unbound"
        assert (await delete(x, channel)).is_done
        for declaration in (x, binding):
            await channel.declare(declaration)
        assert (await delete(x, channel, forced=True)).is_done
