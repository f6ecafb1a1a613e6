"""Handlers that settle their messages: what each word does at the broker, and what is a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from pydantic import BaseModel

from mqkit import (
    App,
    ConfigurationError,
    Delivery,
    ManualDelivery,
    Properties,
    RetryPolicy,
    StaleDelivery,
    Stats,
)
from mqkit.consumer import ConsumeOptions, MessageHandler, Pause, QueueRules, Settler
from mqkit.consumer.acks.manual import ManualConsumer
from mqkit.consumer.settlement_steps import Arrival
from mqkit.testing.proxy import FaultyProxy

pytestmark = pytest.mark.anyio

WAIT_S = 20.0
RETRY = "{retry: {after: [20ms, 60ms], then: park}}"


class Item(BaseModel):
    number: int


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_each_word_is_carried_out_when_it_returns(
    scene: Any, inbox: Any, transport: str
) -> None:
    app: App = scene.app(RETRY, transport=transport)

    @app.consumer(scene.queue, ack="manual")
    async def handle(item: Item, delivery: ManualDelivery) -> None:
        stats = app.stats
        match item.number, delivery.attempt:
            case 0, _:
                await delivery.ack()
                inbox.add(("acked", stats.acked))
            case 1, 1:
                await delivery.retry(reason="busy")
                inbox.add(("retried", stats.retried))
            case 1, 2:
                await delivery.ack()
                inbox.add(("again", delivery.headers["x-mqkit-error-message"]))
            case 2, _:
                await delivery.park("bad VAT id")
                inbox.add(("parked", stats.parked, await scene.ready(scene.parked)))
            case 3, _:
                await delivery.drop()
                inbox.add(("dropped", stats.dropped))

    await scene.put(*(b'{"number": %d}' % number for number in range(4)))
    async with app:
        await inbox.until(5)
    assert sorted(inbox.items) == [
        ("acked", 1),
        ("again", "busy"),
        ("dropped", 1),
        ("parked", 1, 1),
        ("retried", 1),
    ]
    assert app.stats == Stats(delivered=5, acked=2, retried=1, parked=1, dropped=1)
    assert await scene.ready() == 0


async def test_a_handler_may_have_the_manual_delivery_alone(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue, ack="manual")
    async def handle(delivery: ManualDelivery) -> None:
        inbox.add((delivery.body, delivery.message_id, delivery.attempts_left))
        await delivery.ack()

    await scene.put(b"x")
    async with app:
        await inbox.until(1)
    assert inbox.items == [(b"x", "m0", 2)]
    assert app.stats.acked == 1


async def test_a_handler_that_settles_nothing_has_failed(
    scene: Any, inbox: Any, new_inbox: Callable[[], Any]
) -> None:
    app: App = scene.app(RETRY)
    parked = new_inbox()
    kept: list[ManualDelivery] = []

    @app.consumer(scene.queue, ack="manual")
    async def handle(delivery: ManualDelivery) -> None:
        inbox.add(delivery.attempt)
        kept.append(delivery)

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        parked.add(delivery.headers["x-mqkit-error-type"])

    await scene.put(b"x")
    async with app:
        await parked.until(1)
        with pytest.raises(ConfigurationError, match="settled already"):
            await kept[0].ack()  # its consumer has settled it since
    assert inbox.items == [1, 2, 3]
    assert parked.items == ["NotSettled"]
    assert (app.stats.retried, app.stats.parked) == (2, 1)


async def test_a_handler_that_raises_before_it_settles_has_failed_as_ever(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue, ack="manual")
    async def handle(delivery: ManualDelivery) -> None:
        inbox.add(delivery.headers.get("x-mqkit-error-type"))
        if delivery.attempt == 1:
            raise ValueError("the first time")
        await delivery.ack()

    await scene.put(b"x")
    async with app:
        await inbox.until(2)
    assert inbox.items == [None, "ValueError"]
    assert (app.stats.retried, app.stats.acked, app.stats.failed_too_late) == (1, 1, 0)


async def test_a_handler_that_raises_when_it_has_settled_is_logged_and_counted_only(
    scene: Any, inbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue, ack="manual")
    async def handle(delivery: ManualDelivery) -> None:
        await delivery.ack()
        inbox.add(delivery.message_id)
        raise ValueError("too late")

    await scene.put(b"", b"")
    async with app:
        await inbox.until(2)
    assert inbox.items == ["m0", "m1"]
    assert (app.stats.acked, app.stats.failed_too_late, app.stats.retried) == (2, 2, 0)
    assert f"message m0 from {scene.queue} stays settled after ValueError: too late" in caplog.text


async def test_a_body_that_does_not_fit_is_parked_as_ever(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue, ack="manual")
    async def handle(item: Item, delivery: ManualDelivery) -> None:
        raise AssertionError("the handler must not see it")

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        inbox.add(delivery.headers["x-mqkit-parked-reason"])

    await scene.put(b"no json")
    async with app:
        await inbox.until(1)
    assert inbox.items == ["schema"]


async def test_a_timeout_while_it_settles_settles_it_once(scene: Any, inbox: Any) -> None:
    """The republish waits for a broker that does not answer until the handler is cancelled."""
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(RETRY, url=proxy.url)

        @app.consumer(scene.queue, ack="manual", timeout=0.1)
        async def handle(delivery: ManualDelivery) -> None:
            if delivery.attempt == 1:
                proxy.stall()
                try:
                    await delivery.retry()
                finally:
                    proxy.resume()
            await delivery.ack()
            inbox.add(delivery.attempt)

        await scene.put(b"x")
        async with app:
            await inbox.until(1)
    assert inbox.items == [2]
    assert (app.stats.retried, app.stats.acked, app.stats.timeouts) == (1, 1, 1)
    assert app.stats.failed_too_late == 1
    assert await scene.ready() == 0


async def test_settling_on_a_channel_that_is_gone_raises_and_the_message_comes_again(
    scene: Any, inbox: Any
) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(RETRY, url=proxy.url)

        @app.consumer(scene.queue, ack="manual", concurrency=2)
        async def handle(delivery: ManualDelivery) -> None:
            inbox.add(delivery.redelivered)
            if not delivery.redelivered:
                proxy.cut()
                await inbox.until(2)  # delivered again, so the old channel is gone
                with pytest.raises(StaleDelivery):
                    await delivery.park("must not be published for nothing")
                inbox.add("stale")
            else:
                await delivery.ack()

        await scene.put(b"x")
        async with app:
            await inbox.until(3)
    assert inbox.items == [False, True, "stale"]
    assert (app.stats.stale_acks, app.stats.acked, app.stats.parked) == (1, 1, 0)
    assert await scene.ready(scene.parked) == 0


async def test_a_worker_that_is_cancelled_takes_its_settling_along() -> None:
    """The program ends, and nobody is left to wait for the settling."""
    publishing = asyncio.Event()

    async def never_confirms(messages: Any) -> Any:
        publishing.set()
        await asyncio.Event().wait()

    async def handle(delivery: ManualDelivery) -> None:
        await delivery.park()

    class Open:
        is_open = True

    consumer = ManualConsumer(
        "q",
        MessageHandler(handle, settles_itself=True),
        Settler(QueueRules("q", RetryPolicy.of("1s")), never_confirms, Stats(), Pause()),
        cast(Any, None),
        options=ConsumeOptions(5),
        concurrency=1,
    )
    delivery = Delivery("", "q", b"", Properties(), 1, False)
    before = asyncio.all_tasks()
    worker = asyncio.create_task(consumer.attempt(Arrival(cast(Any, Open()), delivery)))
    async with asyncio.timeout(WAIT_S):
        await publishing.wait()
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_being_cancelled_in_the_middle_of_settling_leaves_nothing_behind(
    scene: Any, inbox: Any
) -> None:
    before = asyncio.all_tasks()
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(RETRY, url=proxy.url, drain_timeout=0.05)

        @app.consumer(scene.queue, ack="manual")
        async def handle(delivery: ManualDelivery) -> None:
            proxy.stall()
            inbox.add("settling")
            await delivery.park()

        await scene.put(b"x")
        async with app:
            await inbox.until(1)
            asyncio.get_running_loop().call_later(0.2, proxy.resume)
    async with asyncio.timeout(WAIT_S):
        while asyncio.all_tasks() - before:
            await scene.consumers()
    assert app.stats.acked == 0


@pytest.mark.parametrize("ack", ["after", "before"])
def test_a_manual_delivery_needs_its_mode(ack: Any) -> None:
    app = App("amqp://127.0.0.1/")

    async def handle(delivery: ManualDelivery) -> None: ...

    with pytest.raises(ConfigurationError, match='ack="manual"'):
        app.consumer("q", ack=ack)(handle)
