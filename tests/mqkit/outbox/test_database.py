"""Work through engines of either kind."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, func, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from mqkit.errors import ConfigurationError
from mqkit.outbox.database import AnyEngine, Database, engine_of
from mqkit.outbox.tables import SentRow

pytestmark = pytest.mark.anyio


def insert(connection: Connection) -> None:
    connection.execute(
        text(
            "INSERT INTO mqkit_outbox_sent (id, exchange, routing_key, body, octets, message_id,"
            " properties, headers, created_at) VALUES"
            " (1, '', '', '', 0, '', '{}', '{}', CURRENT_TIMESTAMP)"
        )
    )


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(SentRow)).scalar_one()


async def test_a_transaction_is_committed_at_its_end_and_rolled_back_if_it_raises(
    engine: AnyEngine,
) -> None:
    database = Database(engine)
    with pytest.raises(RuntimeError, match="on the way"):
        async with database.transaction() as run:
            await run(insert)
            assert await run(count) == 1
            raise RuntimeError("on the way")
    assert await database.run(count) == 0
    await database.run(insert)
    assert await database.run(count) == 1
    await database.dispose()


async def test_the_driver_of_a_url_says_which_kind_of_engine() -> None:
    assert isinstance(engine_of("postgresql+asyncpg://h/d"), AsyncEngine)
    assert not isinstance(engine_of("postgresql+psycopg://h/d"), AsyncEngine)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nonsense secret", "can't be used"),
        ("nosql://user:secret@h/d", "can't be used"),
        ("postgresql+psycopg2://user:secret@h/d", "driver.*psycopg2"),
        ("postgresql+psycopg://user:secret@h:port/d", "can't be used"),
    ],
)
async def test_a_url_that_can_not_be_used_is_told_without_its_password(url: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as raised:
        engine_of(url)
    assert "secret" not in str(raised.value)
