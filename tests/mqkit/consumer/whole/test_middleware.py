"""Middleware around publishes and handlers, on a real broker."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from mqkit import (
    App,
    Batch,
    ConfigurationError,
    Delivery,
    HandleNext,
    Message,
    Outcome,
    PublishNext,
)

pytestmark = pytest.mark.anyio

WAIT_S = 20.0
RETRY = "{retry: {after: [20ms], then: park}}"


class Item(BaseModel):
    number: int


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_an_app_with_both(scene: Any, inbox: Any, transport: str) -> None:
    app: App = scene.app(RETRY, transport=transport)

    @app.around_publish
    async def traced(message: Message, publish: PublishNext) -> Outcome:
        return await publish(message.with_headers({"trace": message.body.decode()}))

    @app.around_handle
    async def told(delivery: Delivery, handle: HandleNext) -> object:
        inbox.add((delivery.headers["trace"], delivery.attempt))
        return await handle(delivery)

    @app.consumer(scene.queue)
    async def handle(body: str) -> None:
        if len(inbox.items) == 1:
            raise ValueError("once")

    @app.queue(f"{scene.queue}.dead").on(Item)
    async def item(item: Item) -> None: ...

    async with app:
        with pytest.raises(ConfigurationError, match="runs already"):
            app.around_handle(told)
        assert await app.publish("", scene.queue, "1")
        await inbox.until(2)
        assert all(await app.publish_batch([app.message("", scene.queue, n) for n in "23"]))
        await inbox.until(4)
        body = Item(number=4)
        assert await app.to("", f"{scene.queue}.dead", model=Item).publish(body)
        await inbox.until(5)
    assert inbox.items[:4] == [("1", 1), ("1", 2), ("2", 1), ("3", 1)]
    assert app.stats.acked == 4


async def test_an_answer_comes_through(scene: Any) -> None:
    app: App = scene.app()

    @app.around_handle
    async def doubled(delivery: Delivery, handle: HandleNext) -> object:
        return 2 * int(str(await handle(delivery)))

    @app.consumer(scene.queue)
    async def answer(number: int) -> int:
        return number

    async with app:
        await app.wait_ready(WAIT_S)
        assert await app.call("", scene.queue, 21, reply=int, deadline=WAIT_S) == 42


async def test_batches_have_none(scene: Any, inbox: Any) -> None:
    app: App = scene.app()

    @app.around_handle
    async def told(delivery: Delivery, handle: HandleNext) -> object:
        raise AssertionError("a batch is no single message")

    @app.batch_consumer(scene.queue, size=2)
    async def store(batch: Batch[bytes]) -> None:
        inbox.add(len(batch))

    await scene.put(b"", b"")
    async with app:
        await inbox.until(1)
    assert app.stats.acked == 2
