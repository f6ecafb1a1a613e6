"""Consumers whose handlers say ``Unavailable``, and rates, on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from mqkit import App, Batch, ConfigurationError, Delivery, ManualDelivery, Unavailable
from mqkit.declaration import Queue
from mqkit.message import Message, Properties

pytestmark = pytest.mark.anyio

WAIT_S = 20.0
RETRY = "{retry: {after: [20ms, 60ms], then: park}}"
NUMBER = 12


def without_circuits(app: App) -> dict[str, int]:
    return {
        "retried": app.stats.retried,
        "parked": app.stats.parked,
        "requeued": app.stats.requeued,
        "stale": app.stats.stale_acks,
    }


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_the_broker_holds_the_messages_until_the_handler_works_again(
    scene: Any, inbox: Any, transport: str
) -> None:
    app: App = scene.app(RETRY, transport=transport)
    is_down = True

    @app.consumer(scene.queue, concurrency=2, prefetch=8)
    async def handle(delivery: Delivery) -> None:
        if is_down:
            inbox.add("down")
            raise Unavailable("the database is down")
        inbox.add((delivery.body, delivery.attempt))

    await scene.put(*[b"%d" % number for number in range(NUMBER)])
    async with app:
        await inbox.until(1)
        # All but the one that is held for the probes.
        await scene.until_ready(NUMBER - 1)
        assert await scene.consumers() == 0
        assert app.stats.circuits_opened == 1
        await inbox.until(3)  # probes, with the same message
        assert await scene.ready() == NUMBER - 1
        is_down = False
        await inbox.when(lambda items: len([i for i in items if i != "down"]) == NUMBER)
    handled = sorted(item for item in inbox.items if item != "down")
    assert handled == sorted((b"%d" % number, 1) for number in range(NUMBER))
    assert app.stats.acked == NUMBER
    assert without_circuits(app) == {"retried": 0, "parked": 0, "requeued": 0, "stale": 0}
    assert (app.stats.circuits_opened, app.stats.circuits_closed) == (1, 1)


async def test_a_quorum_queue_counts_no_probes(scene: Any, inbox: Any) -> None:
    name = f"{scene.queue}.dead"
    channel = await scene.outside.channel(confirms=True)
    limits = {"x-queue-type": "quorum", "x-delivery-limit": 1}
    await channel.declare_queue(Queue(name, arguments=limits))
    messages = [Message("", name, b"%d" % n, Properties(message_id=f"m{n}")) for n in range(6)]
    assert all(await asyncio.gather(*await channel.publish_many(messages)))
    app = App(scene.url)

    @app.consumer(name, prefetch=6)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        if inbox.items.count(b"0") < 3:
            raise Unavailable()

    async with app:
        await inbox.when(lambda items: set(items) == {b"%d" % n for n in range(6)})
    assert app.stats.acked == 6
    assert inbox.items == [b"0"] * 3 + [b"1", b"2", b"3", b"4", b"5"]
    await channel.delete_queue(name)
    await channel.close()


async def test_a_batch_is_given_back_but_for_its_first_message(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)
    is_down = True

    @app.batch_consumer(scene.queue, size=4, within="5ms")
    async def store(batch: Batch[bytes]) -> None:
        inbox.add(list(batch))
        if is_down:
            raise Unavailable("the warehouse is down")

    await scene.put(*[b"%d" % number for number in range(NUMBER)])
    async with app:
        await inbox.until(1)
        await scene.until_ready(NUMBER - 1)
        await inbox.until(2)
        is_down = False
        done = len(inbox.items)
        await inbox.when(lambda items: sum(map(len, items[done:])) == NUMBER)
    assert inbox.items[1] == inbox.items[0][:1]
    assert app.stats.acked == NUMBER
    assert app.stats.circuits_closed == 1


async def test_a_batch_gives_back_the_message_that_did_not_fit_into_it(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(RETRY)

    @app.batch_consumer(scene.queue, size=10, within=WAIT_S, max_bytes=3)
    async def store(batch: Batch[bytes]) -> None:
        inbox.add(list(batch))
        if len(inbox.items) == 1:
            raise Unavailable("the warehouse is down")

    await scene.put(b"00", b"11", b"22", b"33")
    async with app:
        # The last one waits for others that would fit, until the app drains.
        await inbox.until(4)
    assert inbox.items[:4] == [[b"00"], [b"00"], [b"11"], [b"22"]]
    assert app.stats.stale_acks == 0
    assert app.stats.acked + await scene.ready() == 4


async def test_a_handler_that_settles_its_messages_is_asked_again(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)
    kept: list[ManualDelivery] = []

    @app.consumer(scene.queue, ack="manual")
    async def handle(delivery: ManualDelivery) -> None:
        kept.append(delivery)
        inbox.add(delivery.message_id)
        if len(inbox.items) == 1:
            raise Unavailable()
        with pytest.raises(ConfigurationError, match="settled already"):
            await kept[0].ack()
        await delivery.ack()

    await scene.put(b"")
    async with app:
        await inbox.until(2)
    assert inbox.items == ["m0", "m0"]
    assert (app.stats.acked, app.stats.failed_too_late) == (1, 0)


async def test_with_the_ack_before_a_probe_is_another_message(scene: Any, inbox: Any) -> None:
    app: App = scene.app()

    @app.consumer(scene.queue, ack="before", prefetch=5)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        if len(inbox.items) < 3:
            raise Unavailable()

    await scene.put(b"0", b"1", b"2", b"3")
    async with app:
        await inbox.until(4)
    assert inbox.items == [b"0", b"1", b"2", b"3"]
    assert (app.stats.acked, app.stats.failed_too_late) == (4, 2)


async def test_a_question_is_answered_at_once(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def answer(body: bytes) -> str:
        raise Unavailable("no prices today")

    async with app:
        await app.wait_ready(WAIT_S)
        with pytest.raises(Exception, match="no prices today"):
            await app.call("", scene.queue, b"", reply=str, deadline=WAIT_S)
    assert (app.stats.circuits_opened, app.stats.failed_questions) == (0, 1)


async def test_a_queue_that_is_paused_meanwhile_stays_so(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        if len(inbox.items) == 1:
            raise Unavailable()

    orders = app.queue(scene.queue)
    await scene.put(b"0", b"1")
    async with app:
        await inbox.until(1)
        await scene.until_ready(1)
        await orders.pause()
        await scene.until_ready(2)  # when the probe was due
        assert inbox.items == [b"0"]
        await orders.resume()
        await inbox.until(3)
    assert inbox.items == [b"0", b"0", b"1"]


async def test_the_end_does_not_wait_for_a_probe(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        raise Unavailable()

    await scene.put(b"0", b"1")
    async with app:
        await inbox.until(1)
    await scene.until_ready(2)
    assert app.stats.circuits_closed == 0


# -- rates -----------------------------------------------------------------------------------------


async def test_handlers_of_a_queue_begin_at_its_rate_and_the_end_does_not_wait(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app()
    app.queue(scene.queue, rate="1/10m")
    for _ in range(2):

        @app.consumer(scene.queue, concurrency=2, prefetch=2)
        async def handle(body: bytes) -> None:
            inbox.add(body)

    await scene.put(*[b""] * 9)
    async with app:
        await inbox.until(1)
        # One is acked, and both consumers have what they may.
        await scene.until_ready(4)
    assert len(inbox.items) == 1
    assert await scene.ready() == 8
    assert (app.stats.acked, app.stats.returned) == (1, 4)


async def test_batches_begin_at_the_rate_of_their_queue(scene: Any, inbox: Any) -> None:
    app: App = scene.app()
    app.queue(scene.queue, rate="1/10m")

    @app.batch_consumer(scene.queue, size=2)
    async def store(batch: Batch[bytes]) -> None:
        inbox.add(len(batch))

    await scene.put(*[b""] * 5)
    async with app:
        await inbox.until(1)
        await scene.until_ready(0)
    assert inbox.items == [2]
    assert await scene.ready() == 3


async def test_a_fast_rate_lets_everything_through(
    scene: Any, new_inbox: Callable[[], Any]
) -> None:
    app: App = scene.app()
    inbox = new_inbox()
    app.queue(scene.queue, rate="5000/s")

    @app.consumer(scene.queue, concurrency=4)
    async def handle(body: str) -> None:
        inbox.add(int(body))

    await scene.put(*[b"%d" % number for number in range(1200)])
    async with app:
        await inbox.until(1200)
    assert sorted(inbox.items) == list(range(1200))


def test_a_rate_is_given_once() -> None:
    app = App("amqp://127.0.0.1/")
    orders = app.queue("orders", rate="100/s")
    assert app.queue("orders", rate="100/1s") is orders
    with pytest.raises(ConfigurationError, match="is 100/s already"):
        app.queue("orders", rate="200/s")
    with pytest.raises(ConfigurationError, match="expected something like"):
        app.queue("orders", rate="a lot")


async def test_a_rate_comes_before_the_consumers_run(scene: Any) -> None:
    app: App = scene.app()

    @app.consumer(scene.queue)
    async def handle(body: bytes) -> None: ...

    async with app:
        with pytest.raises(ConfigurationError, match="give the rate before"):
            app.queue(scene.queue, rate="1/s")
