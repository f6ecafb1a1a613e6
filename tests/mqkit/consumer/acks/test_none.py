"""Without acks: nothing comes twice, and no more than so many octets wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mqkit import App, Stats, Unavailable
from mqkit.consumer.acks.none import WAITING_OCTETS_MAX
from mqkit.testing.proxy import FaultyProxy

pytestmark = pytest.mark.anyio

WAIT_S = 20.0
MIB = 1024 * 1024


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_a_message_is_gone_when_it_is_sent_and_handled_at_the_end_all_the_same(
    scene: Any, inbox: Any, transport: str
) -> None:
    app: App = scene.app(transport=transport)
    go = asyncio.Event()

    @app.consumer(scene.queue, ack="none")
    async def handle(body: bytes) -> None:
        inbox.add(body)
        await go.wait()

    await scene.put(b"1", b"2", b"3")
    async with app:
        await inbox.until(1)
        await scene.until_ready(0)
        asyncio.get_running_loop().call_soon(go.set)
    assert inbox.items == [b"1", b"2", b"3"]
    assert app.stats == Stats(delivered=3, acked=3)
    assert await scene.ready() == 0


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_no_more_than_so_many_octets_wait(scene: Any, inbox: Any, transport: str) -> None:
    app: App = scene.app(transport=transport)
    go = asyncio.Event()
    number = 3 * WAITING_OCTETS_MAX // MIB
    most = WAITING_OCTETS_MAX // MIB + 2  # one in its handler, one that was just being read

    @app.consumer(scene.queue, ack="none")
    async def handle(body: bytes) -> None:
        inbox.add(len(body))
        await go.wait()

    await scene.put(*[bytes(MIB)] * number)
    async with app:
        async with asyncio.timeout(WAIT_S):
            while app.stats.delivered < most - 1:
                await scene.ready()
        for _ in range(50):
            await scene.ready()
        assert app.stats.delivered <= most
        # Other connections are read: a publish is confirmed.
        assert await app.publish("", f"{scene.queue}.dead", b"")
        go.set()
        await inbox.until(number)
    assert inbox.items == [MIB] * number
    assert app.stats.acked == number


async def test_a_pause_while_reading_is_paused_takes_what_was_sent(scene: Any, inbox: Any) -> None:
    app: App = scene.app()
    go = asyncio.Event()
    number = 2 * WAITING_OCTETS_MAX // MIB

    @app.consumer(scene.queue, ack="none")
    async def handle(body: bytes) -> None:
        inbox.add(len(body))
        await go.wait()

    await scene.put(*[bytes(MIB)] * number)
    async with app:
        async with asyncio.timeout(WAIT_S):
            while app.stats.delivered <= WAITING_OCTETS_MAX // MIB:
                await scene.ready()
            await app.queue(scene.queue).pause()
        assert await scene.consumers() == 0
        go.set()
        await inbox.until(app.stats.delivered)
        left = await scene.ready()
        assert len(inbox.items) + left == number
        await app.queue(scene.queue).resume()
        await inbox.until(number)


async def test_what_fails_is_counted_and_no_circuit_opens(scene: Any, inbox: Any) -> None:
    app: App = scene.app()

    @app.consumer(scene.queue, ack="none")
    async def handle(body: bytes) -> None:
        inbox.add(body)
        raise Unavailable("nothing can be given back")

    await scene.put(b"1", b"2")
    async with app:
        await inbox.until(2)
    assert (app.stats.acked, app.stats.failed_too_late, app.stats.circuits_opened) == (2, 2, 0)


async def test_it_is_consumed_again_after_a_cut(scene: Any, inbox: Any) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(url=proxy.url)

        @app.consumer(scene.queue, ack="none")
        async def handle(body: bytes) -> None:
            inbox.add(body)

        await scene.put(b"1")
        async with app:
            await inbox.until(1)
            proxy.cut()
            assert await app.publish("", scene.queue, b"2")
            await inbox.until(2)
    assert inbox.items == [b"1", b"2"]


async def test_it_has_a_connection_of_its_own_that_is_opened_again(scene: Any, inbox: Any) -> None:
    app: App = scene.app()

    @app.consumer(scene.queue, ack="none")
    async def handle(body: bytes) -> None:
        inbox.add(body)

    await scene.put(b"1")
    async with app:
        await inbox.until(1)
        assert app._client is not None
        (consumer,) = app._client._consumers
        own = consumer._own.consuming_connection()  # type: ignore[attr-defined]
        assert own is not app._client.consuming_connection()
        await own.close()
        assert await app.publish("", scene.queue, b"2")
        await inbox.until(2)
        assert app.state == "ready"
