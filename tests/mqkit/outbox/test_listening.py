"""LISTEN, by each driver that can."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from mqkit.outbox.database import AnyEngine, Database
from mqkit.outbox.listening import can_listen, listen
from mqkit.outbox.notification import CHANNEL

pytestmark = pytest.mark.anyio


async def test_a_commit_is_told_and_a_lost_connection_ends_it(engine: AnyEngine) -> None:
    if not can_listen(engine):
        assert engine.dialect.name == "sqlite"
        return
    told = asyncio.Event()
    database = Database(engine)
    listening = asyncio.create_task(listen(engine, told.set))
    async with asyncio.timeout(30):
        await told.wait()  # it listens
        told.clear()
        await database.run(lambda connection: connection.execute(text(f"NOTIFY {CHANNEL}")))
        await told.wait()
        await database.run(
            lambda connection: connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    f" WHERE query ILIKE 'LISTEN%{CHANNEL}%' AND pid <> pg_backend_pid()"
                )
            )
        )
        await asyncio.wait([listening])
    assert not listening.cancelled()
    listening.exception()
    await database.dispose()
