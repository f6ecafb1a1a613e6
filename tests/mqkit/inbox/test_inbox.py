"""The inbox with consumers of a real broker, on both databases and with sessions of both kinds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, cast

import anyio
import pika
import pydantic
import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine

import mqkit
from mqkit.errors import ConfigurationError
from mqkit.inbox import Inbox
from mqkit.topology.file.read import loads

pytestmark = pytest.mark.anyio
DEADLINE_S = 60.0


async def until(is_so: Callable[[], bool]) -> None:
    """Look again now and then: nobody tells when a message is settled."""
    never = asyncio.Event()
    async with asyncio.timeout(DEADLINE_S):
        while not is_so():
            with anyio.move_on_after(0.01):
                await never.wait()


class Bench:
    """An app with a queue, an inbox, and handlers that the test says."""

    def __init__(self, url: str, name: str, shop: Any, **options: Any) -> None:
        self.name = name
        self.shop = shop
        retry = "{retry: {after: [50ms], then: park}}"
        self.app = mqkit.App(url, topology=loads(f"queues: {{{name}: {retry}}}"))
        self.inbox = Inbox(cast("Callable[[], AsyncSession]", shop.sessions), **options)
        self.fails = 0
        """So many calls fail, after they have written."""

    def consume(self, **options: Any) -> None:
        inbox, shop = self.inbox, self.shop

        async def store(body: str, session: Any = mqkit.depends(inbox.session)) -> None:
            await shop.add(session, body)
            if self.fails:
                self.fails -= 1
                raise ValueError("on the way")

        self.app.consumer(self.name, inbox=inbox, **options)(store)

    async def publish(self, *bodies: str, **options: Any) -> None:
        for body in bodies:
            assert await self.app.publish("", self.name, body, **options)

    @property
    def settled(self) -> int:
        stats = self.app.stats
        return stats.acked + stats.parked + stats.retried


async def test_a_key_does_its_work_once(broker_url: str, name: str, shop: Any) -> None:
    bench = Bench(broker_url, name, shop)
    bench.consume(concurrency=3)
    async with bench.app:
        await bench.publish("a", "b", "c", idempotency_key="k")
        await bench.publish("d", message_id="k")
        await bench.publish("e", "f", message_id="7")
        await until(lambda: bench.settled == 6)
    assert len(shop.effects) == 3
    assert shop.keys == ["id:7", "id:k", "key:k"]
    counts = bench.inbox.counts
    assert (counts.handled, counts.known) == (3, 3)


async def test_a_handler_that_fails_takes_its_key_along(
    broker_url: str, name: str, shop: Any
) -> None:
    bench = Bench(broker_url, name, shop)
    bench.consume()
    bench.fails = 1
    async with bench.app:
        await bench.publish("a", message_id="1")
        await until(lambda: bench.settled == 2)
    assert (shop.effects, shop.keys) == (["a"], ["id:1"])
    assert (bench.app.stats.retried, bench.inbox.counts.known) == (1, 0)


class Paid(pydantic.BaseModel):
    order: str


class Refunded(pydantic.BaseModel):
    order: str


async def test_handlers_by_type_share_the_keys_of_their_queue(
    broker_url: str, name: str, shop: Any
) -> None:
    bench = Bench(broker_url, name, shop)
    given = mqkit.depends(bench.inbox.session)
    queue = bench.app.queue(name, inbox=cast("Any", bench.inbox))

    @queue.on(Paid)
    async def pay(paid: Paid, session: Any = given) -> None:
        await shop.add(session, f"paid {paid.order}")

    @queue.on(Refunded)
    async def refund(refunded: Refunded, session: Any = given) -> None:
        await shop.add(session, f"refunded {refunded.order}")

    with pytest.raises(ConfigurationError, match="before them"):
        bench.app.queue(name, concurrency=2)
    async with bench.app:
        for message_id in ("1", "1", "2"):
            await bench.app.to("", name, model=Paid).publish(
                Paid(order=message_id), message_id=message_id
            )
        await bench.app.to("", name, model=Refunded).publish(Refunded(order="3"), message_id="3")
        await bench.app.to("", name, model=Refunded).publish(Refunded(order="1"), message_id="1")
        await bench.publish("of no type", message_id="4")
        await until(lambda: bench.settled == 6)
    assert sorted(shop.effects) == ["paid 1", "paid 2", "refunded 3"]
    assert shop.keys == ["id:1", "id:2", "id:3"]
    assert (bench.inbox.counts.known, bench.app.stats.parked) == (2, 1)


def publish_bare(url: str, queue: str) -> None:
    """A message without any property, of somebody else's."""
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        connection.channel().basic_publish("", queue, b"a")


@pytest.mark.parametrize("without_key", ["park", "handle"])
async def test_a_message_without_a_key_is_parked_or_handled(
    broker_url: str, name: str, shop: Any, without_key: str
) -> None:
    bench = Bench(broker_url, name, shop, without_key=without_key)
    bench.consume()
    async with bench.app:
        await bench.app.wait_ready()
        await asyncio.to_thread(publish_bare, broker_url, name)
        await until(lambda: bench.settled == 1)
    parks = without_key == "park"
    assert bench.app.stats.parked == parks
    assert (bench.inbox.counts.refused, bench.inbox.counts.unkeyed) == (parks, not parks)
    assert (shop.effects, shop.keys) == ([] if parks else ["a"], [])


async def test_a_batch_is_one_transaction_with_an_outcome_for_each(
    broker_url: str, name: str, shop: Any
) -> None:
    bench = Bench(broker_url, name, shop)
    sizes: list[int] = []

    async def store(
        rows: mqkit.Batch[str], session: Any = mqkit.depends(bench.inbox.session)
    ) -> None:
        sizes.append(len(rows))
        for entry in rows.entries:
            if entry.value == "later" and entry.delivery.attempt == 1:
                entry.retry()
            else:
                await shop.add(session, entry.value)

    bench.app.batch_consumer(name, size=4, within=5.0, inbox=bench.inbox)(store)
    async with bench.app:
        await bench.app.queue(name).pause()
        for body, key in (("a", "1"), ("later", "2"), ("again", "1"), ("b", "3")):
            await bench.publish(body, message_id=key)
        await bench.app.queue(name).resume()
        await until(lambda: bench.settled == 4)
        for body in "xyz":
            await bench.publish(body, message_id="3")
        await until(lambda: bench.settled == 8)
    assert sizes == [3, 1]
    assert shop.effects == ["a", "b", "later"]
    assert shop.keys == ["id:1", "id:2", "id:3"]
    assert (bench.inbox.counts.handled, bench.inbox.counts.known) == (3, 4)


async def test_a_database_that_is_away_uses_up_no_attempt(
    broker_url: str, name: str, shop: Any
) -> None:
    shop.run("ALTER TABLE mqkit_inbox RENAME TO elsewhere")
    bench = Bench(broker_url, name, shop)
    bench.consume()
    async with bench.app:
        await bench.publish("a", message_id="1")
        await until(lambda: bench.app.stats.unavailable >= 1)
        shop.run("ALTER TABLE elsewhere RENAME TO mqkit_inbox")
        await until(lambda: bench.app.stats.acked == 1)
    assert (bench.app.stats.retried, shop.effects) == (0, ["a"])


async def test_an_error_that_the_handler_swallows_does_not_ack_an_empty_transaction(
    broker_url: str, name: str, shop: Any
) -> None:
    bench = Bench(broker_url, name, shop)

    async def store(body: str, session: Any = mqkit.depends(bench.inbox.session)) -> None:
        await shop.add(session, body)
        with contextlib.suppress(SQLAlchemyError):
            done = session.execute(text("INSERT INTO nowhere VALUES (1)"))
            if shop.is_async:
                await done

    bench.app.consumer(name, inbox=bench.inbox)(store)
    async with bench.app:
        await bench.publish("a", message_id="1")
        await until(lambda: bench.app.stats.parked + bench.app.stats.acked == 1)
    # SQLite goes on with the transaction; PostgreSQL would have rolled it back at the commit.
    goes_on = shop.engine.dialect.name == "sqlite"
    assert (bench.app.stats.acked == 1) is goes_on
    assert (shop.effects, shop.keys) == ((["a"], ["id:1"]) if goes_on else ([], []))


async def test_who_ends_the_transaction_is_told(broker_url: str, name: str, shop: Any) -> None:
    bench = Bench(broker_url, name, shop)

    async def store(body: str, session: Any = mqkit.depends(bench.inbox.session)) -> None:
        done = session.rollback()
        if done is not None:
            await done

    bench.app.consumer(name, inbox=bench.inbox)(store)
    async with bench.app:
        await bench.publish("a", message_id="1")
        await until(lambda: bench.app.stats.parked == 1)
    assert shop.keys == []


async def test_what_does_not_go_together_is_refused(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sessions = async_sessionmaker(create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'x.db'}"))
    inbox = Inbox(sessions, keep="1h")
    app = mqkit.App(topology=loads("queues: {orders: {retry: {after: [30m, 31m]}}}"))

    def plain(body: str) -> None:
        """Nothing."""

    with pytest.raises(ConfigurationError, match='ack="manual"'):
        app.consumer("orders", inbox=inbox, ack="manual")(plain)
    with pytest.raises(ConfigurationError, match="plain function with a timeout"):
        app.consumer("orders", inbox=inbox, timeout="1s")(plain)
    with pytest.raises(ConfigurationError, match="without_key="):
        Inbox(sessions, without_key=cast("Any", "burn"))
    with pytest.raises(ConfigurationError, match="inbox=inbox"):
        await inbox.session()
    with caplog.at_level(logging.WARNING, "mqkit.inbox"):
        app.consumer("orders", inbox=inbox)(plain)
    (record,) = caplog.records
    assert "kept for 3600 s, and a message of orders can take 3660 s" in record.getMessage()
