"""Databases with an empty inbox and a table of effects, with sessions of both kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker

from mqkit.inbox.tables import metadata
from mqkit.outbox.database import engine_of

KINDS = ("sqlite", "sqlite+aiosqlite", "psycopg", "asyncpg")


class Shop:
    """A database of one of :data:`KINDS`. ``plain`` is another engine on it."""

    def __init__(self, url: str) -> None:
        self.plain = create_engine(url.replace("+aiosqlite", "").replace("+asyncpg", "+psycopg"))
        self.engine = engine_of(url)
        self.sessions: Callable[[], Any] = (
            async_sessionmaker(self.engine)
            if isinstance(self.engine, AsyncEngine)
            else sessionmaker(self.engine)
        )
        metadata.drop_all(self.plain)
        metadata.create_all(self.plain)
        self.run("DROP TABLE IF EXISTS effects")
        self.run("CREATE TABLE effects (name varchar(50) NOT NULL)")

    @property
    def is_async(self) -> bool:
        return isinstance(self.engine, AsyncEngine)

    def run(self, statement: str) -> list[Any]:
        with self.plain.begin() as connection:
            found = connection.execute(text(statement))
            return list(found.scalars()) if found.returns_rows else []

    @property
    def effects(self) -> list[str]:
        return sorted(self.run("SELECT name FROM effects"))

    @property
    def keys(self) -> list[str]:
        return sorted(self.run("SELECT key FROM mqkit_inbox"))

    async def add(self, session: Any, name: str) -> None:
        """Write an effect by a session of either kind."""
        statement = text("INSERT INTO effects VALUES (:name)")
        if isinstance(session, AsyncSession):
            await session.execute(statement, {"name": name})
        else:
            await asyncio.to_thread(session.execute, statement, {"name": name})

    def close(self) -> None:
        if isinstance(self.engine, AsyncEngine):
            asyncio.run(self.engine.dispose())
        else:
            self.engine.dispose()
        self.plain.dispose()


@pytest.fixture(params=KINDS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    if request.param.startswith("sqlite"):
        url = f"{request.param}:///{tmp_path / 'shop.db'}"
    else:
        url = request.getfixturevalue("postgresql_server").url(request.param)
    shop = Shop(url)
    yield shop
    shop.close()


@pytest.fixture(params=["sqlite", "psycopg"])
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A plain engine with an empty inbox, on either database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'shop.db'}"
    else:
        url = request.getfixturevalue("postgresql_server").url(request.param)
    engine = create_engine(url)
    metadata.drop_all(engine)
    metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def session(plain: Engine) -> Iterator[Session]:
    with Session(plain) as session:
        yield session
