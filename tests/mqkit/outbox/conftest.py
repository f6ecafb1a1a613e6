"""Databases with an empty outbox, of both kinds and for engines of both kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import Session

from mqkit.outbox.database import AnyEngine, engine_of
from mqkit.outbox.tables import OutboxRow, metadata

SQLITE = ("sqlite", "sqlite+aiosqlite")
POSTGRESQL = ("psycopg", "asyncpg")


def _url(name: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if name in SQLITE:
        return f"{name}:///{folder / 'outbox.db'}"
    url: str = request.getfixturevalue("postgresql_server").url(name)
    return url


@pytest.fixture(params=["sqlite", "psycopg"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a plain engine, for either database."""
    return _url(request.param, request, tmp_path)


@pytest.fixture
def plain(database_url: str) -> Iterator[Engine]:
    """A plain engine with an empty outbox, on either database."""
    engine = create_engine(database_url)
    metadata.drop_all(engine)
    metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(plain: Engine) -> Iterator[Connection]:
    """A connection in a transaction, which is rolled back."""
    with plain.connect() as connection:
        yield connection


@pytest.fixture(params=[*SQLITE, *POSTGRESQL])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyEngine]:
    """Engines of both kinds, each with an empty outbox."""
    url = _url(request.param, request, tmp_path)
    plain = create_engine(url.replace("+aiosqlite", "").replace("+asyncpg", "+psycopg"))
    metadata.drop_all(plain)
    metadata.create_all(plain)
    engine = engine_of(url)
    yield engine
    if isinstance(engine, AsyncEngine):
        asyncio.run(engine.dispose())
    else:
        engine.dispose()
    plain.dispose()


@pytest.fixture
def put(plain: Engine) -> Callable[..., list[int]]:
    """Puts rows into the outbox, one for each ordering key; gives their ids."""

    def put(*keys: str | None, **columns: Any) -> list[int]:
        from mqkit.outbox.writing import publish

        with Session(plain) as session, session.begin():
            rows: list[OutboxRow] = []
            for key in keys:
                row = publish(session, "", "orders", b"12345678", ordering_key=key)
                for name, value in columns.items():
                    setattr(row, name, value)
                rows.append(row)
            session.flush()
            return [row.id for row in rows]

    return put
