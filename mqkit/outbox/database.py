"""Work on a database, through an engine of either kind.

Work is a function of a :class:`sqlalchemy.Connection`. An async engine runs it beside the event
loop's other tasks, a plain one in a worker thread: so each statement is written once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from mqkit.errors import ConfigurationError
from mqkit.outbox.dialect import POSTGRESQL, supported

ResultT = TypeVar("ResultT")
Work: TypeAlias = Callable[[Connection], ResultT]
AnyEngine: TypeAlias = Engine | AsyncEngine


class Run(Protocol):
    """Does work within a transaction."""

    def __call__(self, work: Work[ResultT], /) -> Awaitable[ResultT]: ...


class Database:
    """Raises :exc:`~mqkit.errors.ConfigurationError` for a database that is neither PostgreSQL nor
    SQLite."""

    def __init__(self, engine: AnyEngine) -> None:
        self.dialect = supported(engine.dialect.name)
        self.engine = engine
        self._engine = (
            # Who waits for a partition must see what its last owner has committed.
            engine.execution_options(isolation_level="READ COMMITTED")
            if self.dialect == POSTGRESQL
            else engine
        )

    async def run(self, work: Work[ResultT]) -> ResultT:
        """Do the work in a transaction of its own, which is committed."""
        async with self.transaction() as run:
            return await run(work)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Run]:
        """A transaction for the time of the block, committed at its end, rolled back if it
        raises."""
        engine = self._engine
        if isinstance(engine, AsyncEngine):
            async with engine.begin() as connection:
                yield _InLoop(connection)
        else:
            async with _begun(engine) as plain:
                yield _ByThread(plain)

    async def dispose(self) -> None:
        """Close the engine's connections."""
        if isinstance(self.engine, AsyncEngine):
            await self.engine.dispose()
        else:
            await _in_thread(self.engine.dispose)


def engine_of(url: str) -> AnyEngine:
    """The engine for a URL of SQLAlchemy's: its driver says of which kind.

    Raises :exc:`~mqkit.errors.ConfigurationError`, without the URL's password.
    """
    try:
        parsed = make_url(url)
        is_async = parsed.get_dialect().is_async
        return create_async_engine(parsed) if is_async else create_engine(parsed)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the driver of the database URL is not installed: {error.name}"
        ) from None
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise ConfigurationError(
            "the database URL can't be used (expected something like"
            " postgresql+psycopg://USER:PASSWORD@HOST/NAME, or sqlite:////PATH)"
        ) from None


@dataclass(frozen=True, slots=True)
class _InLoop:
    connection: AsyncConnection

    async def __call__(self, work: Work[ResultT], /) -> ResultT:
        return await self.connection.run_sync(work)


@dataclass(frozen=True, slots=True)
class _ByThread:
    connection: Connection

    async def __call__(self, work: Work[ResultT], /) -> ResultT:
        return await _in_thread(partial(work, self.connection))


@asynccontextmanager
async def _begun(engine: Engine) -> AsyncIterator[Connection]:
    transaction = engine.begin()
    connection = await _in_thread(transaction.__enter__)
    try:
        yield connection
    except BaseException as error:
        await _in_thread(partial(transaction.__exit__, type(error), error, error.__traceback__))
        raise
    await _in_thread(partial(transaction.__exit__, None, None, None))


async def _in_thread(call: Callable[[], ResultT]) -> ResultT:
    # A thread can't be cancelled: one that is left alone would go on with the connection.
    results: list[ResultT] = []
    with anyio.CancelScope(shield=True):
        results.append(await anyio.to_thread.run_sync(call))
    return results[0]
