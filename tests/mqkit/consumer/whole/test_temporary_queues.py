"""A queue for one process, on a broker: every process gets every message, through reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mqkit import App, Batch, ChannelError, Delivery, Temporary
from mqkit.declaration import Exchange
from mqkit.testing.proxy import FaultyProxy

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


@pytest.fixture
async def exchange(scene: Any, unique: Callable[[str], str]) -> AsyncIterator[str]:
    """A topic exchange."""
    name = unique("events")
    channel = await scene.outside.channel()
    await channel.declare_exchange(Exchange(name, "topic"))
    yield name
    await channel.delete_exchange(name)
    await channel.close()


def forgetting(app: App, temporary: Temporary, inbox: Any) -> None:
    @app.consumer(temporary)
    async def forget(body: str, delivery: Delivery) -> None:
        inbox.add(body)


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_each_process_gets_every_message(
    scene: Any, exchange: str, new_inbox: Callable[[], Any], transport: str
) -> None:
    temporary = Temporary([(exchange, "cache.*")])
    inboxes = [new_inbox() for _ in range(2)]
    apps = [scene.app(transport=transport) for _ in inboxes]
    for app, inbox in zip(apps, inboxes, strict=True):
        forgetting(app, temporary, inbox)
    async with apps[0], apps[1]:
        for app in apps:
            await app.wait_ready(WAIT_S)
        assert await apps[0].publish(exchange, "cache.users", "users")
        assert not await apps[0].publish(exchange, "other", "nobody's")
        for inbox in inboxes:
            await inbox.until(1)
    assert [inbox.items for inbox in inboxes] == [["users"], ["users"]]


async def test_it_is_made_again_and_bound_again_after_a_reconnect(
    scene: Any, exchange: str, inbox: Any
) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(url=proxy.url)
        forgetting(app, Temporary([(exchange, "cache.*")]), inbox)
        async with app:
            for number in range(3):
                await app.wait_ready(WAIT_S)
                assert await app.publish(exchange, "cache.users", str(number))
                await inbox.when(lambda items, number=number: str(number) in items)
                proxy.cut()
                async with asyncio.timeout(WAIT_S):
                    while app.state == "ready":
                        await scene.consumers()
    assert [*dict.fromkeys(inbox.items)] == ["0", "1", "2"]


async def test_it_is_gone_with_the_app_and_an_app_may_run_again(
    scene: Any, exchange: str, inbox: Any
) -> None:
    app: App = scene.app()
    forgetting(app, Temporary([(exchange, "#")]), inbox)
    for number in range(2):
        async with app:
            await app.wait_ready(WAIT_S)
            assert await app.publish(exchange, "k", str(number))
            await inbox.until(number + 1)
    async with scene.app() as other:
        assert not await other.publish(exchange, "k", "nobody there")
    assert inbox.items == ["0", "1"]


async def test_headers_bindings_have_arguments(
    scene: Any, unique: Callable[[str], str], inbox: Any
) -> None:
    name = unique("headers")
    channel = await scene.outside.channel()
    await channel.declare_exchange(Exchange(name, "headers"))
    app: App = scene.app()
    forgetting(app, Temporary([(name, "", {"x-match": "all", "kind": "user"})]), inbox)
    async with app:
        await app.wait_ready(WAIT_S)
        assert not await app.publish(name, "", "order", headers={"kind": "order"})
        assert await app.publish(name, "", "user", headers={"kind": "user"})
        await inbox.until(1)
    assert inbox.items == ["user"]
    await channel.delete_exchange(name)
    await channel.close()


async def test_a_failure_goes_back_to_it(scene: Any, exchange: str, inbox: Any) -> None:
    app: App = scene.app()

    @app.consumer(Temporary([(exchange, "#")]))
    async def forget(delivery: Delivery) -> None:
        inbox.add((delivery.redelivered, delivery.attempts_left, delivery.is_last_attempt))
        if not delivery.redelivered:
            raise ValueError("once")

    async with app:
        await app.wait_ready(WAIT_S)
        assert await app.publish(exchange, "k", "x")
        await inbox.until(2)
    assert inbox.items == [(False, None, False), (True, None, False)]
    assert app.stats.requeued == 1


async def test_an_exchange_that_is_not_there_ends_the_first_start(
    scene: Any, unique: Callable[[str], str], inbox: Any
) -> None:
    nowhere = unique("nowhere")
    app: App = scene.app()
    forgetting(app, Temporary([(nowhere, "#")]), inbox)
    with pytest.raises(ChannelError, match=f"404.*{nowhere}"):
        async with app:
            await app.wait_ready(WAIT_S)


async def test_an_exchange_that_goes_away_later_is_waited_for(
    scene: Any, exchange: str, inbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(url=proxy.url)
        forgetting(app, Temporary([(exchange, "#")]), inbox)
        channel = await scene.outside.channel()
        async with app:
            await app.wait_ready(WAIT_S)
            await channel.delete_exchange(exchange)
            proxy.cut()
            async with asyncio.timeout(WAIT_S):
                while "can't be consumed, it is tried again: 404" not in caplog.text:
                    await scene.consumers()
            await channel.declare_exchange(Exchange(exchange, "topic"))
            async with asyncio.timeout(WAIT_S):
                while not await app.publish(exchange, "k", "x"):
                    pass
            await inbox.until(1)
    assert inbox.items[0] == "x"


async def test_it_keeps_its_messages_while_it_is_paused(
    scene: Any, exchange: str, inbox: Any
) -> None:
    app: App = scene.app()
    temporary = Temporary([(exchange, "#")])
    forgetting(app, temporary, inbox)
    async with app:
        await app.wait_ready(WAIT_S)
        await app.queue(temporary).pause()
        assert await app.publish(exchange, "k", "while paused")
        await app.queue(temporary).resume()
        await inbox.until(1)
        await app.queue(temporary).remove()
        assert not await app.publish(exchange, "k", "nobody's")  # it is deleted
    assert inbox.items == ["while paused"]


async def test_one_may_be_added_while_the_app_runs_and_read_in_batches(
    scene: Any, exchange: str, inbox: Any
) -> None:
    app: App = scene.app()
    async with app:
        await app.wait_ready(WAIT_S)

        @app.batch_consumer(Temporary([(exchange, "#")]), size=10, within="10ms")
        async def forget(batch: Batch[str]) -> None:
            for text in batch:
                inbox.add(text)

        async with asyncio.timeout(WAIT_S):
            while not await app.publish(exchange, "k", "x"):
                pass
        await inbox.until(1)
    assert inbox.items[0] == "x"
