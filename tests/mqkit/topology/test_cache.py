"""Declarations remembered, and declared again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.errors import ConfigurationError, ConnectionRefused
from mqkit.message import Message
from mqkit.topology import OpenChannel, TopologyCache, channels_of
from mqkit.transport.native import NativeTransport

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def connected(bench: Any) -> AsyncIterator[OpenChannel]:
    """A connection of its own, as after a reconnect."""
    async with channels_of(NativeTransport(), bench.endpoint, timeout_s=20) as open_channel:
        yield open_channel


def test_the_order_is_exchanges_queues_bindings_whatever_came_first() -> None:
    cache = TopologyCache()
    cache.add([Binding("x", "q"), Queue("q")])
    cache.add([Exchange("x"), Queue("q")])
    assert list(cache.declarations) == [Exchange("x"), Queue("q"), Binding("x", "q")]


def test_the_same_name_with_other_parameters_is_refused_and_nothing_is_added() -> None:
    cache = TopologyCache()
    cache.add([Queue("q")])
    with pytest.raises(ConfigurationError, match=r"queue 'q' is declared twice: x-max-length"):
        cache.add([Queue("r"), Queue("q", arguments={"x-max-length": 5})])
    with pytest.raises(ConfigurationError, match="declared twice"):
        cache.add([Exchange("x"), Exchange("x", "topic")])
    assert list(cache.declarations) == [Queue("q")]


def test_forgetting_a_queue_forgets_what_is_bound_to_it() -> None:
    cache = TopologyCache()
    cache.add([Exchange("x"), Queue("q"), Queue("r"), Binding("x", "q"), Binding("x", "r")])
    cache.forget(Queue("q"))
    cache.forget(Queue("q"))
    assert list(cache.declarations) == [Exchange("x"), Queue("r"), Binding("x", "r")]
    cache.forget(Exchange("x"))
    assert list(cache.declarations) == [Queue("r")]


def test_a_queue_without_a_name_needs_one_of_the_programs() -> None:
    cache = TopologyCache()
    with pytest.raises(ConfigurationError, match="add_server_named"):
        cache.add([Queue("")])
    for name, queue in (("", Queue("")), ("mine", Queue("theirs"))):
        with pytest.raises(ConfigurationError):
            cache.add_server_named(name, queue)


async def test_what_vanished_is_declared_again(bench: Any) -> None:
    x, q = f"{bench.prefix}.x", f"{bench.prefix}.q"
    cache = TopologyCache()
    cache.add([Binding(x, q, "k"), Exchange(x, "topic"), Queue(q, arguments={"x-max-length": 5})])
    assert (await cache.declare_all(bench.open_channel)).declared == 3
    channel = await bench.open_channel()
    await channel.delete_queue(q)
    await channel.delete_exchange(x)
    redeclared = await cache.declare_all(bench.open_channel)
    assert (redeclared.declared, redeclared.quarantined) == (3, ())
    found = await bench.snapshot()
    assert found.queues[0].queue.arguments == {"x-max-length": 5}
    assert len(found.bindings) == 1


async def test_a_refused_object_is_put_aside_and_tried_again_later(bench: Any) -> None:
    bad, good = f"{bench.prefix}.bad", f"{bench.prefix}.good"
    channel = await bench.open_channel()
    await channel.declare_queue(Queue(bad, arguments={"x-max-length": 1}))
    cache = TopologyCache()
    cache.add([Queue(bad), Queue(good)])
    redeclared = await cache.declare_all(bench.open_channel)
    assert redeclared.declared == 1
    (refused,) = redeclared.quarantined
    assert (refused.declaration, refused.error.reply_code) == (Queue(bad), 406)
    assert [str(item) for item in refused.differences] == ["x-max-length: is '1', wanted not set"]
    await channel.delete_queue(bad)
    redeclared = await cache.declare_all(bench.open_channel)
    assert (redeclared.declared, cache.quarantined) == (2, ())


async def test_an_exclusive_queue_gets_a_fresh_name_while_the_old_connection_lives(
    bench: Any,
) -> None:
    mine = f"{bench.prefix}.mine"
    cache = TopologyCache()
    cache.add([Queue(mine, durable=False, exclusive=True), Binding("amq.topic", mine, mine)])
    cache.add_server_named("replies", Queue("", durable=False, exclusive=True))
    async with connected(bench) as first:
        await cache.declare_all(first)
        assert cache.current_name(mine) == mine
        replies = cache.current_name("replies")
        assert replies not in ("", "replies")
        async with connected(bench) as second:
            redeclared = await cache.declare_all(second)
            assert redeclared.quarantined == ()
            assert cache.current_name(mine) != mine
            assert cache.current_name("replies") not in (replies, "replies")
            # The binding went to the fresh one.
            channel = await second()
            await channel.publish_many([Message("amq.topic", mine, b"hello")])
            await channel.declare_queue(Queue(cache.current_name(mine)), passive=True)
            delivery = await channel.get(cache.current_name(mine))
            assert delivery is not None
            assert delivery.body == b"hello"
    assert cache.current_name("a plain queue") == "a plain queue"


async def test_what_closes_the_connection_is_not_tried_again(bench: Any) -> None:
    odd, good = Exchange(f"{bench.prefix}.odd", "x-nobody-has-this"), Queue(f"{bench.prefix}.q")
    cache = TopologyCache()
    cache.add([odd, good])
    # RabbitMQ 3.10 closes the connection for it (503), later ones the channel (406).
    async with connected(bench) as open_channel:
        with suppress(ConnectionRefused):
            await cache.declare_all(open_channel)
    assert (await cache.declare_all(bench.open_channel)).declared == 1
    (refused,) = cache.quarantined
    assert refused.declaration == odd
    assert [entry.queue for entry in (await bench.snapshot()).queues] == [good]


async def test_on_the_same_connection_an_exclusive_queue_is_kept(bench: Any) -> None:
    mine = f"{bench.prefix}.mine"
    cache = TopologyCache()
    cache.add([Queue(mine, durable=False, exclusive=True), Binding("amq.topic", mine, mine)])
    cache.add_server_named("replies", Queue("", durable=False, exclusive=True))
    async with connected(bench) as open_channel:
        await cache.declare_all(open_channel)
        names = [cache.current_name(name) for name in (mine, "replies")]
        before = len((await bench.snapshot()).queues)
        for _ in range(2):
            assert (await cache.declare_all(open_channel)).declared == 3
            assert [cache.current_name(name) for name in (mine, "replies")] == names
        assert len((await bench.snapshot()).queues) == before
        await (await open_channel()).delete_queue(mine)
        await cache.declare_all(open_channel)
        assert cache.current_name(mine) != mine


async def test_the_refusal_of_a_server_named_queue_or_of_its_binding_is_known(bench: Any) -> None:
    nowhere, other = f"{bench.prefix}.nowhere", f"{bench.prefix}.q"
    cache = TopologyCache()
    cache.add_server_named("mine", Queue("", durable=False, exclusive=True))
    cache.add_server_named("fine", Queue("", durable=False, exclusive=True))
    cache.add([Queue(other), Binding(nowhere, "mine", "k"), Binding(nowhere, other, "k")])
    assert cache.refusal_of("mine") is None
    await cache.declare_all(bench.open_channel)
    refused = cache.refusal_of("mine")
    assert refused is not None
    assert (refused.reply_code, nowhere in refused.reply_text) == (404, True)
    assert cache.refusal_of("fine") is None
    assert cache.refusal_of(other) is None  # it is there, and somebody may have bound it otherwise
    channel = await bench.open_channel()
    await channel.declare_exchange(Exchange(nowhere))
    await cache.declare_all(bench.open_channel)
    assert cache.refusal_of("mine") is None
