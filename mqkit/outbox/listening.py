"""LISTEN: being told of commits, over a connection of the engine's that does nothing else.

The drivers that can be told are psycopg (3, of either kind) and asyncpg: it is the relay's own
engine that says which. With another one, and on SQLite, a relay finds its work by its poll alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

import anyio.to_thread
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from mqkit.outbox.database import AnyEngine
from mqkit.outbox.dialect import POSTGRESQL
from mqkit.outbox.notification import CHANNEL

LOOK_UP_S = 1.0
"""The longest that a thread waits for a notification: so long may the end of a relay take."""

Told: TypeAlias = Callable[[], None]


def can_listen(engine: AnyEngine) -> bool:
    """True if the engine's driver can be told of commits."""
    if engine.dialect.name != POSTGRESQL:
        return False
    drivers = ("psycopg", "psycopg_async", "asyncpg")
    return engine.dialect.driver in drivers


async def listen(engine: AnyEngine, told: Told) -> None:
    """Call ``told`` on the event loop: once when it listens, then for each notification.

    Returns, or raises what the driver does, when the connection is gone.
    """
    if isinstance(engine, AsyncEngine):
        await _listen_in_loop(engine, told)
    else:
        await _listen_in_thread(engine, told)


async def _listen_in_loop(engine: AsyncEngine, told: Told) -> None:
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        raw: Any = (await connection.get_raw_connection()).driver_connection
        try:
            if engine.dialect.driver == "asyncpg":
                gone = asyncio.Event()
                raw.add_termination_listener(lambda _: gone.set())
                await raw.add_listener(CHANNEL, lambda *_: told())
                told()
                await gone.wait()
            else:
                await raw.execute(f"LISTEN {CHANNEL}")
                told()
                async for _ in raw.notifies():
                    told()
        finally:
            with anyio.CancelScope(shield=True):
                await connection.invalidate()  # nobody else gets a connection that listens


async def _listen_in_thread(engine: Engine, told: Told) -> None:
    connection = await anyio.to_thread.run_sync(engine.connect)
    try:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        raw: Any = connection.connection.driver_connection
        await anyio.to_thread.run_sync(raw.execute, f"LISTEN {CHANNEL}")
        told()
        while True:
            # A thread can't be cancelled, so it waits for a moment at a time.
            heard = await anyio.to_thread.run_sync(
                lambda: sum(1 for _ in raw.notifies(timeout=LOOK_UP_S, stop_after=1))
            )
            if heard:
                told()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(connection.invalidate)
            await anyio.to_thread.run_sync(connection.close)
