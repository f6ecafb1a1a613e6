"""Order by key, on a real broker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from mqkit import App, ConfigurationError, Delivery

pytestmark = pytest.mark.anyio

RETRY = "{retry: {after: [20ms, 60ms], then: park}}"
KEYS = 5
EACH = 12


class Step(BaseModel):
    key: str
    number: int


class Last(BaseModel):
    key: str


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_each_key_in_order_though_many_are_handled_at_once_and_some_fail(
    scene: Any, inbox: Any, transport: str
) -> None:
    app: App = scene.app(RETRY, transport=transport)
    running: set[str] = set()
    most = 0

    @app.consumer(scene.queue, concurrency=4, partition_by="key")
    async def handle(step: Step, delivery: Delivery) -> None:
        nonlocal most
        assert step.key not in running
        running.add(step.key)
        most = max(most, len(running))
        for _ in range(3):
            await asyncio.sleep(0)
        running.remove(step.key)
        if step.number % 5 == 3 and delivery.attempt == 1:
            raise ValueError("the first time")
        inbox.add((step.key, step.number))

    steps = [Step(key=f"k{k}", number=n) for n in range(EACH) for k in range(KEYS)]
    await scene.put(*[step.model_dump_json().encode() for step in steps])
    async with app:
        await inbox.until(KEYS * EACH)
    for k in range(KEYS):
        assert [n for key, n in inbox.items if key == f"k{k}"] == list(range(EACH))
    assert 1 < most <= 4
    assert (app.stats.acked, app.stats.retried, app.stats.held) == (KEYS * EACH, 0, KEYS * 2)


async def test_types_of_one_queue_share_the_order_of_their_keys(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)
    orders = app.queue(scene.queue, concurrency=4, partition_by="key")

    @orders.on(Step)
    async def step(step: Step, delivery: Delivery) -> None:
        if delivery.attempt == 1:
            raise ValueError("the first time")
        inbox.add(step.number)

    @orders.on(Last)
    async def last(last: Last) -> None:
        inbox.add("last")

    async with app:
        messages = [
            app.message("", scene.queue, Step(key="a", number=1), type="Step"),
            app.message("", scene.queue, Last(key="a"), type="Last"),
        ]
        assert all(await app.publish_batch(messages))
        await inbox.until(2)
    assert inbox.items == [1, "last"]


def test_order_goes_with_acks_after_the_handler_only() -> None:
    app = App("amqp://127.0.0.1/")
    for ack in ("before", "manual", "none"):
        with pytest.raises(ConfigurationError, match='order goes with ack="after"'):
            app.consumer("q", ack=ack, partition_by="key")
    with pytest.raises(ConfigurationError, match="expected the name of a field"):
        app.consumer("q", partition_by="")
