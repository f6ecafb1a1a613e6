"""The tables, as Alembic sees them."""

from __future__ import annotations

from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, text

from mqkit.outbox.tables import metadata


def differences(connection: Connection) -> list[Any]:
    """Between the outbox's tables and the database, in which tests of others have theirs."""

    def is_ours(name: str | None, kind: str, _: object) -> bool:
        return kind != "table" or name in metadata.tables

    options = {"compare_type": True, "include_name": is_ours}
    found: list[Any] = compare_metadata(
        MigrationContext.configure(connection, opts=options), metadata
    )
    return found


def test_alembic_sees_no_difference_where_they_were_created(plain: Engine) -> None:
    with plain.begin() as connection:
        assert differences(connection) == []
        connection.execute(text("DROP INDEX ix_mqkit_outbox_waiting"))
        assert [each[0] for each in differences(connection)] == ["add_index"]
        connection.rollback()


def test_an_id_is_never_given_twice(plain: Engine, put: Any) -> None:
    (first,) = put("key")
    with plain.begin() as connection:
        connection.execute(text("DELETE FROM mqkit_outbox"))
    (second,) = put("key")
    assert second > first
