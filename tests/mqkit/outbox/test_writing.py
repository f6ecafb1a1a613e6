"""Writing in the caller's transaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, func, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

import mqkit
from mqkit import outbox
from mqkit.outbox.stored import message_of
from mqkit.outbox.tables import OutboxRow, metadata


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(OutboxRow)).scalar_one()


def test_the_row_has_the_fate_of_its_transaction(plain: Engine) -> None:
    with Session(plain) as session:
        outbox.publish(session, "", "orders", b"1")
        session.flush()
        session.rollback()
    with plain.begin() as connection:
        assert count(connection) == 0
    with Session(plain) as session:
        row = outbox.publish(session, "", "orders", {"n": 1}, ordering_key="c", priority=5)
        session.commit()
        assert row.id
    with plain.begin() as connection:
        stored = dict(connection.execute(select(*OutboxRow.__table__.columns)).mappings().one())
    message = message_of(stored)
    assert (message.body, message.properties.priority) == (b'{"n":1}', 5)
    assert (stored["state"], stored["reason"], stored["sent_at"]) == ("waiting", None, None)


def test_rows_of_a_session_are_numbered_in_the_order_of_their_calls(plain: Engine) -> None:
    with Session(plain) as session:
        rows = [outbox.publish(session, "", "orders", b"", message_id=str(n)) for n in range(250)]
        session.commit()
        assert [row.id for row in rows] == sorted(row.id for row in rows)


@pytest.mark.anyio
async def test_an_async_session_is_not_awaited(tmp_path: Path) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'outbox.db'}")
    async with engine.begin() as connection:
        await connection.run_sync(metadata.create_all)
    async with AsyncSession(engine) as session, session.begin():
        message = mqkit.App.message("", "orders", b"made before")
        outbox.send(session, message, ordering_key="c")
    async with engine.begin() as connection:
        assert await connection.run_sync(count) == 1
    await engine.dispose()


def test_a_transaction_notifies_once_and_the_next_one_again(plain: Engine) -> None:
    statements: list[str] = []

    @event.listens_for(plain, "before_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement)

    for _ in range(2):
        with Session(plain) as session, session.begin():
            for number in range(3):
                outbox.publish(session, "", "orders", bytes([number]))
                session.flush()
    told = sum("pg_notify" in statement for statement in statements)
    assert told == (2 if plain.dialect.name == "postgresql" else 0)


def test_what_makes_no_message_is_refused_and_the_session_goes_on(plain: Engine) -> None:
    with Session(plain) as session, session.begin():
        with pytest.raises(mqkit.ConfigurationError):
            outbox.publish(session, "", "orders", float("nan"))
        outbox.publish(session, "", "orders", 1.0)
    with plain.begin() as connection:
        assert count(connection) == 1
