"""Keys, taken in a transaction: who commits first has them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from mqkit.errors import ConfigurationError
from mqkit.inbox.tables import InboxRow

_INSERTS: dict[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


def dialect_of(session: Session) -> str:
    """The name of the database. Raises :exc:`~mqkit.errors.ConfigurationError` for one that is
    neither PostgreSQL nor SQLite."""
    name = session.get_bind(InboxRow).dialect.name
    if name not in _INSERTS:
        raise ConfigurationError(f"the inbox is for PostgreSQL and SQLite, and this is {name}")
    return name


def take(session: Session, consumer: str, keys: Iterable[str], now: datetime) -> set[str]:
    """Write the keys that are not there yet; returns these.

    Waits for the transaction of another delivery that has written one of them, and takes the key if
    that is rolled back. In the order of the keys, so that two batches do not wait for each other.
    """
    rows = [{"consumer": consumer, "key": key, "handled_at": now} for key in sorted(set(keys))]
    if not rows:
        return set()
    insert = _INSERTS[dialect_of(session)](InboxRow).values(rows)
    return set(session.scalars(insert.on_conflict_do_nothing().returning(InboxRow.key)))


def give_back(session: Session, consumer: str, keys: Iterable[str]) -> None:
    """Delete keys that were taken in this transaction: their messages were not handled."""
    session.execute(
        delete(InboxRow)
        .where(InboxRow.consumer == consumer, InboxRow.key.in_(sorted(keys)))
        .execution_options(synchronize_session=False)
    )
