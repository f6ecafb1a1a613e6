"""Calls between two apps, on either broker and either transport."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from typing import Any

import pika
import pytest
from pydantic import BaseModel

from mqkit import (
    App,
    BodyMisfit,
    CallRejected,
    Closed,
    ConnectionLost,
    DeadlineExceeded,
    Delivery,
    RemoteError,
    RetryLater,
    Settings,
)
from mqkit.testing.proxy import FaultyProxy
from mqkit.topology import Topology, loads

pytestmark = pytest.mark.anyio

WAIT_S = 20.0
LONG = WAIT_S
UNDER_WAY = 50


class Ask(BaseModel):
    number: int


class Told(BaseModel):
    number: int
    double: int


class Prices:
    """An app with a queue whose handler does what a test says."""

    def __init__(self, url: str, queue: str, transport: str) -> None:
        self.queue = queue
        self.settings = Settings.load(
            urls=url, transport=transport, reconnect_first_s=0.01, reconnect_max_s=0.05
        )
        self.begun: list[int] = []
        self.handle: Callable[[Ask], Any] | None = None
        self.app = self.new_app()
        self.app.consumer(queue, concurrency=8)(self.answer)

    def new_app(self, url: str = "") -> App:
        settings = self.settings
        if url:
            settings = Settings.load(urls=url, transport=settings.transport, reconnect_max_s=0.05)
        return App(topology=self.topology, settings=settings)

    @property
    def topology(self) -> Topology:
        return loads(f"queues:\n  {self.queue}: {{retry: {{after: [10ms], then: park}}}}\n")

    async def answer(self, ask: Ask) -> object:
        self.begun.append(ask.number)
        if self.handle is None:
            return Told(number=ask.number, double=2 * ask.number)
        return await self.handle(ask)


@pytest.fixture(params=["native", "aio-pika"])
async def prices(
    request: pytest.FixtureRequest, broker: Any, unique: Callable[[str], str]
) -> AsyncIterator[Prices]:
    queue = unique("prices")
    unique("prices.parked"), unique("prices.retry.10ms")
    prices = Prices(broker.url, queue, request.param)
    async with prices.app:
        await prices.app.wait_ready(WAIT_S)
        yield prices


def on_its_own_queue(app: App, prices: Prices, number: int, **options: Any) -> Any:
    return app.call(
        "", prices.queue, Ask(number=number), reply=Told, **{"deadline": LONG, **options}
    )


async def test_many_calls_under_way_get_each_its_own_answer(prices: Prices) -> None:
    async with prices.new_app() as app:
        told = await asyncio.gather(
            *[on_its_own_queue(app, prices, n, message_id="same") for n in range(UNDER_WAY)]
        )
    assert told == [Told(number=n, double=2 * n) for n in range(UNDER_WAY)]
    assert prices.app.stats.acked == UNDER_WAY


async def test_what_the_handler_raises_is_raised_here_and_is_not_retried(prices: Prices) -> None:
    async def fails(ask: Ask) -> None:
        raise LookupError("no such customer")

    prices.handle = fails
    async with prices.new_app() as app:
        with pytest.raises(RemoteError, match="LookupError: no such customer"):
            await on_its_own_queue(app, prices, 1)
    assert prices.begun == [1]
    stats = prices.app.stats
    assert (stats.failed_questions, stats.retried, stats.parked) == (1, 0, 0)


async def test_a_retry_that_the_handler_asks_for_answers_in_the_end(prices: Prices) -> None:
    async def at_the_second_time(ask: Ask) -> int:
        if len(prices.begun) == 1:
            raise RetryLater
        return ask.number

    prices.handle = at_the_second_time
    async with prices.new_app() as app:
        answer = await app.call("", prices.queue, Ask(number=7), reply=int, deadline=LONG)
    assert (answer, prices.begun) == (7, [7, 7])


async def test_a_question_that_nobody_can_get_is_rejected_at_once(prices: Prices) -> None:
    async with prices.new_app() as app:
        with pytest.raises(CallRejected, match="unroutable"):
            await app.call("", f"{prices.queue}.typo", {}, reply=int, deadline=LONG)
        with pytest.raises(CallRejected, match="no such exchange"):
            await app.call(f"{prices.queue}.typo", "", {}, reply=int, deadline=LONG)
        assert await on_its_own_queue(app, prices, 1) == Told(number=1, double=2)


async def test_bodies_that_do_not_fit_are_told_on_either_side(prices: Prices) -> None:
    async with prices.new_app() as app:
        with pytest.raises(RemoteError, match="BodyMisfit: number"):
            await app.call("", prices.queue, {"number": "many"}, reply=Told, deadline=LONG)
        with pytest.raises(BodyMisfit):
            await app.call("", prices.queue, Ask(number=1), reply=int, deadline=LONG)


async def test_no_handler_begins_after_the_deadline(prices: Prices) -> None:
    at_work, may_end = asyncio.Semaphore(0), asyncio.Event()

    async def waits(ask: Ask) -> None:
        at_work.release()
        await may_end.wait()

    prices.handle = waits
    async with prices.new_app() as app:
        busy = [asyncio.create_task(on_its_own_queue(app, prices, n)) for n in range(8)]
        for _ in busy:
            await at_work.acquire()
        with pytest.raises(DeadlineExceeded):
            await on_its_own_queue(app, prices, 99, deadline="50ms")
        prices.handle = None
        may_end.set()
        for each in busy:
            with pytest.raises(BodyMisfit):
                await each
        assert await on_its_own_queue(app, prices, 8) == Told(number=8, double=16)
    assert 99 not in prices.begun
    assert prices.app.stats.late_questions == 1


async def test_a_lost_connection_fails_the_calls_under_way_and_asks_none_twice(
    prices: Prices,
) -> None:
    at_work, never = asyncio.Semaphore(0), asyncio.Event()

    async def waits(ask: Ask) -> None:
        at_work.release()
        await never.wait()

    prices.handle = waits
    async with (
        FaultyProxy.before(prices.settings.urls[0].get_secret_value()) as proxy,
        prices.new_app(proxy.url) as app,
    ):
        calls = [asyncio.create_task(on_its_own_queue(app, prices, n)) for n in range(4)]
        for _ in calls:
            await at_work.acquire()
        proxy.cut()
        for call in calls:
            with pytest.raises(ConnectionLost):
                await call
        prices.handle = None
        assert await on_its_own_queue(app, prices, 5) == Told(number=5, double=10)
    assert sorted(prices.begun) == [0, 1, 2, 3, 5]
    never.set()


async def test_the_end_of_the_app_ends_its_calls(prices: Prices) -> None:
    at_work, never = asyncio.Event(), asyncio.Event()

    async def waits(ask: Ask) -> None:
        at_work.set()
        await never.wait()

    prices.handle = waits
    app = App(settings=prices.settings, drain_timeout=0)
    async with app:
        call = asyncio.create_task(on_its_own_queue(app, prices, 1))
        await at_work.wait()
    with pytest.raises(Closed):
        await call
    never.set()


async def test_a_caller_of_another_make_is_answered(prices: Prices) -> None:
    def ask() -> tuple[bytes, str | None]:
        with closing(
            pika.BlockingConnection(pika.URLParameters(prices.settings.urls[0].get_secret_value()))
        ) as connection:
            channel = connection.channel()
            answers: list[tuple[bytes, str | None]] = []

            def answered(_: Any, method: Any, properties: Any, body: bytes) -> None:
                answers.append((body, properties.correlation_id))

            channel.basic_consume("amq.rabbitmq.reply-to", answered, auto_ack=True)
            channel.basic_publish(
                "",
                prices.queue,
                b'{"number": 4}',
                pika.BasicProperties(reply_to="amq.rabbitmq.reply-to", correlation_id="c"),
            )
            while not answers:
                connection.process_data_events(time_limit=WAIT_S)
            return answers[0]

    assert await asyncio.to_thread(ask) == (b'{"number":4,"double":8}', "c")


async def test_a_server_of_another_make_answers(prices: Prices, unique: Any) -> None:
    queue = unique("foreign")
    asked = asyncio.Event()

    def serve(loop: asyncio.AbstractEventLoop) -> None:
        with closing(
            pika.BlockingConnection(pika.URLParameters(prices.settings.urls[0].get_secret_value()))
        ) as connection:
            channel = connection.channel()
            channel.queue_declare(queue)
            loop.call_soon_threadsafe(asked.set)
            for method, properties, body in channel.consume(queue, inactivity_timeout=20):
                assert properties.reply_to.startswith("amq.rabbitmq.reply-to.")
                channel.basic_publish(
                    "",
                    properties.reply_to,
                    body[::-1],
                    pika.BasicProperties(correlation_id=properties.correlation_id),
                )
                channel.basic_ack(method.delivery_tag)
                return

    serving = asyncio.create_task(asyncio.to_thread(serve, asyncio.get_running_loop()))
    await asked.wait()
    async with prices.new_app() as app:
        assert await app.call("", queue, b"abc", reply=bytes, deadline=LONG) == b"cba"
    await serving


async def test_a_message_without_an_address_is_no_question(prices: Prices) -> None:
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def look(ask: Ask) -> int:
        seen.set_result(ask.number)
        return ask.number

    prices.handle = look
    assert await prices.app.publish("", prices.queue, Ask(number=3))
    assert await seen == 3


def test_a_delivery_may_be_asked_for_too() -> None:
    """The signature of a handler that answers is that of any other."""
    app = App("amqp://127.0.0.1/")

    @app.consumer("prices")
    async def answer(ask: Ask, delivery: Delivery) -> Told:
        return Told(number=ask.number, double=0)
