"""The handle of a queue: pausing, resuming and removing its consumers, and adding more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from mqkit import App, Batch, ConfigurationError, QueueHandle, Temporary
from mqkit.testing.proxy import FaultyProxy

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


def consuming(app: App, queue: str, inbox: Any) -> QueueHandle:
    @app.consumer(queue)
    async def handle(body: bytes) -> None:
        inbox.add(body)

    return app.queue(queue)


def test_a_queue_has_one_handle() -> None:
    app = App("amqp://127.0.0.1/")
    temporary = Temporary([("events", "#")])
    assert app.queue("orders") is app.queue("orders")
    assert app.queue("orders") is not app.queue("invoices")
    assert app.queue(temporary) is app.queue(temporary)
    assert repr(app.queue("orders")) == "QueueHandle('orders', consuming)"
    with pytest.raises(ConfigurationError, match=r': app\.queue\("name"\)'):
        app.queue("")


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_a_paused_queue_keeps_its_messages_until_it_is_resumed(
    scene: Any, inbox: Any, transport: str
) -> None:
    app: App = scene.app(transport=transport)
    orders = consuming(app, scene.queue, inbox)
    async with app:
        assert await app.publish("", scene.queue, b"1")
        await inbox.until(1)
        for _ in range(2):
            await orders.pause()
            assert orders.is_paused
        assert await scene.consumers() == 0
        assert await app.publish("", scene.queue, b"2")
        assert await scene.ready() == 1
        for _ in range(2):
            await orders.resume()
            assert not orders.is_paused
        await inbox.until(2)
        assert await scene.consumers() == 1
    assert inbox.items == [b"1", b"2"]
    assert app.stats.acked == 2


async def test_pausing_gives_back_what_is_not_begun_and_lets_handlers_finish(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app()
    go = asyncio.Event()

    @app.consumer(scene.queue, prefetch=10)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        await go.wait()
        inbox.add("done")

    orders = app.queue(scene.queue)
    await scene.put(*[b""] * 5)
    async with app:
        await inbox.until(1)
        await orders.pause()  # returns though a handler runs
        await scene.until_ready(4)
        assert inbox.items == [b""]
        go.set()
        await inbox.until(2)
        await scene.until_ready(4)
        assert inbox.items == [b"", "done"]
        await orders.resume()
        await inbox.until(10)
    assert app.stats.acked == 5
    assert await scene.ready() == 0


async def test_a_handler_may_pause_its_own_queue(scene: Any, inbox: Any) -> None:
    app: App = scene.app()

    @app.consumer(scene.queue)
    async def handle(body: bytes) -> None:
        await app.queue(scene.queue).pause()
        inbox.add(body)

    await scene.put(b"1", b"2", b"3")
    async with app:
        await inbox.until(1)
        await scene.until_ready(2)
    assert inbox.items == [b"1"]


async def test_a_pause_lasts_through_a_reconnect(scene: Any, inbox: Any) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(url=proxy.url)
        orders = consuming(app, scene.queue, inbox)
        async with app:
            await app.wait_ready(WAIT_S)
            await orders.pause()
            proxy.cut()
            assert await app.publish("", scene.queue, b"1")  # on the next connection
            assert await scene.consumers() == 0
            await orders.resume()
            await inbox.until(1)
            proxy.cut()
            assert await app.publish("", scene.queue, b"2")
            await inbox.until(2)
    assert set(inbox.items) == {b"1", b"2"}


async def test_a_queue_that_is_resumed_without_a_connection_is_consumed_with_the_next(
    scene: Any, inbox: Any
) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(url=proxy.url)
        orders = consuming(app, scene.queue, inbox)
        async with app:
            await app.wait_ready(WAIT_S)
            await orders.pause()
            proxy.refuse()
            proxy.cut()
            async with asyncio.timeout(WAIT_S):
                while app.state == "ready":
                    await scene.consumers()
            await orders.resume()
            proxy.accept()
            assert await app.publish("", scene.queue, b"1")
            await inbox.until(1)
    assert inbox.items == [b"1"]


async def test_a_queue_may_be_paused_before_the_app_runs(scene: Any, inbox: Any) -> None:
    app: App = scene.app()
    orders = consuming(app, scene.queue, inbox)
    await orders.pause()
    await scene.put(b"1")
    for _ in range(2):  # the app may run again, and the queue is still paused
        async with app:
            await app.wait_ready(WAIT_S)
            assert await scene.consumers() == 0
    await orders.resume()
    async with app:
        await inbox.until(1)
    assert inbox.items == [b"1"]


async def test_a_queue_that_was_deleted_while_it_was_paused_is_declared_again(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app()
    orders = consuming(app, scene.queue, inbox)
    async with app:
        await app.wait_ready(WAIT_S)
        await orders.pause()
        await scene.delete()
        await orders.resume()
        assert await app.publish("", scene.queue, b"1")
        await inbox.until(1)
    assert inbox.items == [b"1"]


async def test_a_batch_consumer_is_paused_like_any_other(scene: Any, inbox: Any) -> None:
    app: App = scene.app()

    @app.batch_consumer(scene.queue, size=2, within="10ms")
    async def handle(batch: Batch[bytes]) -> None:
        for body in batch:
            inbox.add(body)

    async with app:
        await app.wait_ready(WAIT_S)
        await app.queue(scene.queue).pause()
        for body in (b"1", b"2", b"3"):
            assert await app.publish("", scene.queue, body)
        assert await scene.ready() == 3
        await app.queue(scene.queue).resume()
        await inbox.until(3)
    assert inbox.items == [b"1", b"2", b"3"]


# -- adding and removing -------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_a_consumer_that_is_added_while_the_app_runs_begins_at_once(
    scene: Any, inbox: Any, transport: str
) -> None:
    app: App = scene.app(transport=transport)
    await scene.put(b"1")
    async with app:
        await app.wait_ready(WAIT_S)
        orders = consuming(app, scene.queue, inbox)
        await inbox.until(1)
        assert orders is app.queue(scene.queue)
        await orders.pause()
        consuming(app, scene.queue, inbox)  # the queue is paused, and so is this one
        await app.wait_ready(WAIT_S)
        assert await scene.consumers() == 0
        await orders.resume()
        assert await scene.consumers() == 2
    assert app.stats.acked == 1
    async with app:  # both are registered now
        await app.wait_ready(WAIT_S)
        assert await scene.consumers() == 2


async def test_a_pause_right_behind_adding_holds(scene: Any, inbox: Any) -> None:
    app: App = scene.app()
    await scene.put(b"1")
    async with app:
        await app.wait_ready(WAIT_S)
        await consuming(app, scene.queue, inbox).pause()
        assert await app.publish("", f"{scene.queue}.dead", b"")  # a round trip
        assert await scene.consumers() == 0
    assert inbox.items == []


async def test_a_consumer_that_is_added_waits_for_its_queue(
    scene: Any, inbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app: App = scene.app()
    later = f"{scene.queue}.dead"
    async with app:
        await app.wait_ready(WAIT_S)
        consuming(app, f"{scene.queue}.nowhere", inbox)
        consuming(app, later, inbox)
        assert await app.publish("", later, b"1")
        await inbox.until(1)
        assert app.state == "ready"
    assert f"{scene.queue}.nowhere can't be consumed, it is tried again: 404" in caplog.text


async def test_a_queue_that_is_removed_finishes_its_handlers_and_consumes_no_more(
    scene: Any, inbox: Any, new_inbox: Callable[[], Any]
) -> None:
    app: App = scene.app()
    go, second = asyncio.Event(), new_inbox()

    @app.consumer(scene.queue, prefetch=5)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        await go.wait()

    orders = app.queue(scene.queue)
    await scene.put(b"1", b"2")
    async with app:
        await inbox.until(1)
        removing = asyncio.create_task(orders.remove())
        await scene.until_ready(1)
        assert not removing.done()
        go.set()
        await removing
        await orders.remove()
        assert (await scene.consumers(), app.stats.acked) == (0, 1)
        consuming(app, scene.queue, second)
        await second.until(1)
    assert (inbox.items, second.items) == ([b"1"], [b"2"])
    assert app.stats.acked == 2


async def test_what_was_removed_stays_away_after_a_reconnect(scene: Any, inbox: Any) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(url=proxy.url)
        orders = consuming(app, scene.queue, inbox)
        async with app:
            await app.wait_ready(WAIT_S)
            await orders.remove()
            proxy.cut()
            assert await app.publish("", scene.queue, b"1")
            assert await scene.consumers() == 0
        assert inbox.items == []
        await orders.remove()
        async with app:  # nobody is registered
            await app.wait_ready(WAIT_S)
            assert await scene.consumers() == 0


def test_a_handle_has_one_client() -> None:
    class Client:
        def start(self, queue: Any, make: Any) -> Any: ...
        async def end(self, consumer: Any) -> None: ...
        async def forget(self, temporary: Any) -> None: ...
        async def depth(self, queue: str, deadline_s: float) -> Any: ...

    handle = QueueHandle("orders")
    handle.attach(Client())
    with pytest.raises(ConfigurationError, match="orders run already"):
        handle.attach(Client())
    handle.detach()
    handle.attach(Client())
