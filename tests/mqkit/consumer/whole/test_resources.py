"""Resources of handlers, on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import mqkit
from mqkit import App, Batch, ConfigurationError, Delivery, depends

pytestmark = pytest.mark.anyio

RETRY = "{retry: {after: [20ms], then: park}}"


class Item(BaseModel):
    number: int


class Ledger:
    """A client of the app, and sessions of messages on it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def client(self) -> AsyncIterator[str]:
        self.lines.append("client begins")
        yield "client"
        self.lines.append("client ends")


ledger: Ledger


async def get_client() -> AsyncIterator[str]:
    async for client in ledger.client():
        yield client


async def get_session(
    delivery: Delivery, client: str = depends(get_client, scope="app")
) -> AsyncIterator[str]:
    try:
        yield f"session of {client} for {delivery.message_id}"
    except BaseException as error:
        ledger.lines.append(f"{delivery.message_id} {type(error).__name__}")
        raise
    else:
        ledger.lines.append(f"{delivery.message_id} committed")


def get_flag() -> Iterator[bool]:
    yield True


@pytest.fixture(autouse=True)
def fresh() -> None:
    global ledger
    ledger = Ledger()


async def test_a_session_for_each_message_and_a_client_for_the_app(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(
        item: Item, delivery: Delivery, session: str = depends(get_session), own: int = 3
    ) -> None:
        inbox.add((item.number, delivery.attempt, session, own))
        if delivery.attempt == 1 and item.number == 1:
            raise ValueError("the first time")

    await scene.put(*[Item(number=n).model_dump_json().encode() for n in range(2)])
    async with app:
        await inbox.until(3)
        assert ledger.lines[0] == "client begins"
    assert inbox.items == [
        (0, 1, "session of client for m0", 3),
        (1, 1, "session of client for m1", 3),
        (1, 2, "session of client for m1", 3),
    ]
    assert ledger.lines[1:] == [
        "m0 committed",
        "m1 ValueError",
        "m1 committed",
        "client ends",
    ]
    assert (app.stats.acked, app.stats.retried) == (2, 1)


async def test_a_plain_handler_and_a_handler_of_a_type_have_them_too(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app()
    loop = asyncio.get_running_loop()

    @app.queue(scene.queue).on(Item)
    def handle(item: Item, session: str = depends(get_session)) -> None:
        loop.call_soon_threadsafe(inbox.add, session)

    @app.batch_consumer(f"{scene.queue}.dead", size=1)
    async def store(batch: Batch[bytes], flag: bool = depends(get_flag)) -> None:
        inbox.add(flag)

    async with app:
        target = app.to("", scene.queue, model=Item)
        assert await target.publish(Item(number=1), message_id="typed")
        await inbox.until(1)
        assert await app.publish("", f"{scene.queue}.dead", b"")
        await inbox.until(2)
    assert inbox.items == ["session of client for typed", True]


async def test_a_handler_over_its_time_has_its_session_ended(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue, timeout=0.05)
    async def handle(delivery: Delivery, session: str = depends(get_session)) -> None:
        inbox.add(delivery.attempt)
        if delivery.attempt == 1:
            await asyncio.Event().wait()

    await scene.put(b"")
    async with app:
        await inbox.until(2)
    assert ledger.lines[1:3] == ["m0 CancelledError", "m0 committed"]
    assert app.stats.timeouts == 1


async def test_a_resource_that_is_not_there_may_open_the_circuit(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    def get_database() -> int:
        inbox.add("asked")
        if len(inbox.items) < 2:
            raise mqkit.Unavailable("the database is down")
        return 7

    @app.consumer(scene.queue)
    async def handle(body: bytes, database: int = depends(get_database)) -> None:
        inbox.add(database)

    await scene.put(b"")
    async with app:
        await inbox.until(3)
    assert inbox.items == ["asked", "asked", 7]
    assert (app.stats.circuits_opened, app.stats.retried) == (1, 0)


def test_three_arguments_without_a_default_are_still_an_error() -> None:
    app = App("amqp://127.0.0.1/")

    async def handle(a: Item, b: Delivery, c: str, session: str = depends(get_session)) -> None: ...

    with pytest.raises(ConfigurationError, match="takes 3 arguments"):
        app.consumer("q")(handle)  # type: ignore[type-var]


def test_a_hook_has_none() -> None:
    app = App("amqp://127.0.0.1/")

    async def told(
        delivery: Delivery, error: BaseException, flag: bool = depends(get_flag)
    ) -> None: ...

    with pytest.raises(ConfigurationError, match="handlers can, and this can't"):
        app.queue("q").on_park(told)
