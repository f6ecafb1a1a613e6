"""The relay: from a commit to a confirm, on both databases and with engines of both kinds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

import mqkit
from mqkit.errors import ConfigurationError
from mqkit.message import IDEMPOTENCY_KEY
from mqkit.outbox.database import AnyEngine, Database
from mqkit.outbox.relay import Relay
from mqkit.outbox.tables import OutboxRow, metadata
from mqkit.outbox.writing import publish
from mqkit.topology.file.read import loads

pytestmark = pytest.mark.anyio

DEADLINE_S = 60.0


class Bench:
    """An app with a queue and a handler that notes what comes, and an outbox."""

    def __init__(self, url: str, name: str, engine: AnyEngine) -> None:
        self.name = name
        self.database = Database(engine)
        self.app = mqkit.App(url, topology=loads(f"queues: {{{name}: {{}}}}"))
        self.came: list[mqkit.Delivery] = []
        self._arrived = asyncio.Event()
        self.app.consumer(name)(self._note)

    async def _note(self, delivery: mqkit.Delivery) -> None:
        self.came.append(delivery)
        self._arrived.set()

    async def write(self, *bodies: str, key: str | None = "key", to: str | None = None) -> None:
        def put(connection: Any) -> None:
            with Session(connection) as session:
                for body in bodies:
                    publish(session, "", to or self.name, body, ordering_key=key)
                session.flush()

        await self.database.run(put)

    async def until(self, number: int) -> list[str]:
        async with asyncio.timeout(DEADLINE_S):
            while len(self.came) < number:
                self._arrived.clear()
                await self._arrived.wait()
        return [delivery.body.decode() for delivery in self.came]

    async def states(self) -> list[str]:
        def look(connection: Any) -> list[str]:
            return list(
                connection.execute(select(OutboxRow.state).order_by(OutboxRow.id)).scalars()
            )

        return await self.database.run(look)

    def relay(self, **options: Any) -> Relay:
        return Relay(self.app, self.database.engine, **options)


class TellingHandler(logging.Handler):
    """Sets an event at the first record."""

    def __init__(self, told: asyncio.Event) -> None:
        super().__init__()
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        self._told.set()


@pytest.fixture
async def bench(broker_url: str, name: str, engine: AnyEngine) -> AsyncIterator[Bench]:
    bench = Bench(broker_url, name, engine)
    async with bench.app:
        await bench.app.wait_ready()
        yield bench
        await bench.app.queue(name).remove()
    await bench.database.dispose()


@asynccontextmanager
async def running(*relays: Relay) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(relay()) for relay in relays]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_what_is_committed_is_published_in_order_and_is_gone(bench: Bench) -> None:
    async with running(bench.relay(rows_max=7)):
        await bench.write(*map(str, range(30)))
        assert await bench.until(30) == [str(number) for number in range(30)]
        await bench.write("more")
        await bench.until(31)
    assert await bench.states() == []
    delivery = bench.came[0]
    assert delivery.headers[IDEMPOTENCY_KEY] == delivery.message_id


async def test_a_refused_message_stops_its_key_and_no_other(bench: Bench) -> None:
    await bench.write("1", to=f"{bench.name}.nowhere", key="bad")
    await bench.write("2", key="bad")
    await bench.write("3", key="good")
    await bench.write("4", key=None)
    report = await bench.relay().once()
    assert (report.sent, report.stopped, report.unsettled) == (2, 1, 0)
    assert sorted(await bench.until(2)) == ["3", "4"]
    assert await bench.states() == ["stopped", "held"]


async def test_a_relay_that_ends_before_it_has_written_down_sends_again_under_the_same_ids(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise OSError("killed")

    await bench.write("1", "2")
    with monkeypatch.context() as patch:
        patch.setattr("mqkit.outbox.relay.mark", die)
        with pytest.raises(OSError, match="killed"):
            await bench.relay().once()
    await bench.relay().once()
    assert await bench.until(4) == ["1", "2", "1", "2"]
    assert len({delivery.message_id for delivery in bench.came}) == 2
    assert len({delivery.idempotency_key for delivery in bench.came}) == 2


async def test_two_relays_keep_the_order_of_each_key(bench: Bench) -> None:
    keys = [f"key-{number}" for number in range(20)]
    for round_number in range(5):
        for key in keys:
            await bench.write(f"{key}:{round_number}", key=key)
    async with running(bench.relay(rows_max=20), bench.relay(rows_max=20)):
        came = await bench.until(100)
    for key in keys:
        mine = [body for body in came if body.startswith(f"{key}:")]
        assert mine == [f"{key}:{number}" for number in range(5)]


async def test_it_waits_for_a_database_that_is_away(bench: Bench) -> None:
    """A table that is renamed is as good as a database that is gone, for a moment."""
    told = asyncio.Event()
    handler = TellingHandler(told)
    logger = logging.getLogger("mqkit.outbox.relay")
    logger.addHandler(handler)
    try:
        async with running(bench.relay(poll=0.05)), asyncio.timeout(DEADLINE_S):
            await bench.write("1")
            await bench.until(1)
            await rename(bench, "mqkit_outbox", "elsewhere")
            await told.wait()
            await rename(bench, "elsewhere", "mqkit_outbox")
            await bench.write("2")
            while "2" not in await bench.until(len(bench.came) + 1):
                pass
    finally:
        logger.removeHandler(handler)


async def rename(bench: Bench, old: str, new: str) -> None:
    statement = text(f"ALTER TABLE {old} RENAME TO {new}")
    await bench.database.run(lambda connection: connection.execute(statement))


async def test_without_tables_it_says_what_to_do(bench: Bench) -> None:
    await bench.database.run(metadata.drop_all)
    with pytest.raises(ConfigurationError, match=r"no table mqkit_outbox: .*Alembic"):
        await bench.relay()()


async def test_it_runs_once_at_a_time_and_ends_with_its_block(bench: Bench) -> None:
    relay = bench.relay()
    for number in range(2):
        async with relay:
            with pytest.raises(ConfigurationError, match="running already"):
                async with relay:
                    pass
            await bench.write(str(number))
            await bench.until(number + 1)


@pytest.mark.parametrize("after", ["keep", "move"])
async def test_what_is_sent_is_kept_or_moved(bench: Bench, after: str) -> None:
    await bench.write("1")
    await bench.relay(after=after).once()
    assert await bench.states() == (["sent"] if after == "keep" else [])


async def test_options_that_make_no_sense_are_refused(engine: AnyEngine) -> None:
    relay: Callable[..., Relay] = Relay
    with pytest.raises(ConfigurationError, match="after="):
        relay(mqkit.App(), engine, after="burn")
