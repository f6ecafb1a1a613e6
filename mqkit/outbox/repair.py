"""Repair by a person: the rows as they are, those that are stopped sent again, rows deleted.

A key is let go when none of its rows is stopped any more: its held rows wait again, at once and in
their old order. That is done while no relay works on the key's partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, or_, select, update

from mqkit.outbox.database import Database
from mqkit.outbox.state import State
from mqkit.outbox.tables import OutboxRow, SentRow
from mqkit.outbox.turns import lock_partition

LIST_MAX = 1000
"""Rows of one listing: they are read by a person."""
SLICE = 1000
"""Rows of one transaction: a long one would hold up others."""

OnRows: TypeAlias = Callable[[Connection, Sequence[int]], None]
"""Does something to the rows of these ids."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Rows by their ids, by their keys, or all; of those that are stopped."""

    ids: Sequence[int] = ()
    keys: Sequence[str] = ()
    every: bool = False

    @property
    def condition(self) -> ColumnElement[bool]:
        """The condition for SQL."""
        is_stopped = OutboxRow.state == State.STOPPED.value
        if self.every:
            return is_stopped
        named = or_(OutboxRow.id.in_(self.ids), OutboxRow.ordering_key.in_(self.keys))
        return and_(is_stopped, named)


@dataclass(frozen=True, slots=True)
class Listed:
    """A row, but for its contents."""

    id: int
    state: str
    ordering_key: str | None
    exchange: str
    routing_key: str
    message_id: str
    octets: int
    created_at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True)
class Depth:
    """The rows in one state, and the time of the oldest."""

    state: str
    rows: int
    oldest: datetime | None


async def list_rows(database: Database, states: Sequence[State], limit: int) -> list[Listed]:
    """The first rows in these states, by id."""
    columns = [getattr(OutboxRow, name) for name in Listed.__slots__]
    statement = (
        select(*columns)
        .where(OutboxRow.state.in_([state.value for state in states]))
        .order_by(OutboxRow.id)
        .limit(min(limit, LIST_MAX))
    )
    return await database.run(
        lambda connection: [
            Listed(**{**row, "created_at": _aware(row["created_at"])})
            for row in connection.execute(statement).mappings()
        ]
    )


async def depths(database: Database) -> list[Depth]:
    """The rows of each state that has any."""
    statement = (
        select(OutboxRow.state, func.count(), func.min(OutboxRow.created_at))
        .group_by(OutboxRow.state)
        .order_by(OutboxRow.state)
    )
    return await database.run(
        lambda connection: [
            Depth(state, count, None if oldest is None else _aware(oldest))
            for state, count, oldest in connection.execute(statement)
        ]
    )


async def retry(database: Database, choice: Choice) -> int:
    """Have stopped rows published again, and those behind them. Returns how many were stopped."""
    return await _each(database, choice, _let_go)


async def purge(database: Database, choice: Choice) -> int:
    """Delete stopped rows; their messages are lost. What is behind them is published. Returns how
    many were deleted."""
    return await _each(database, choice, _delete)


async def purge_sent(database: Database, older_than: timedelta) -> int:
    """Delete rows that were confirmed longer ago than that, kept or moved, in slices. Returns how
    many."""
    before = datetime.now(UTC) - older_than
    count = 0
    for table, chosen in (
        (OutboxRow, select(OutboxRow.id).where(OutboxRow.state == State.SENT.value)),
        (SentRow, select(SentRow.id)),
    ):
        old = chosen.where(table.sent_at < before).limit(SLICE)
        while deleted := await database.run(partial(_delete_slice, table, old)):
            count += deleted
    return count


def _delete_slice(
    table: type[OutboxRow] | type[SentRow], old: Select[Any], connection: Connection
) -> int:
    ids = list(connection.execute(old).scalars())
    if ids:
        connection.execute(delete(table).where(table.id.in_(ids)))
    return len(ids)


async def _each(database: Database, choice: Choice, work: OnRows) -> int:
    """Do ``work`` to the chosen rows, a slice of a partition in each transaction."""
    count = 0
    partitions = await database.run(
        lambda connection: (
            connection.execute(select(OutboxRow.partition).where(choice.condition).distinct())
            .scalars()
            .all()
        )
    )
    for number in partitions:
        while done := await database.run(partial(_slice, choice, number, work)):
            count += done
    return count


def _slice(choice: Choice, number: int, work: OnRows, connection: Connection) -> int:
    lock_partition(connection, number)
    chosen = connection.execute(
        select(OutboxRow.id, OutboxRow.ordering_key)
        .where(choice.condition, OutboxRow.partition == number)
        .order_by(OutboxRow.id)
        .limit(SLICE)
    ).all()
    ids = [row.id for row in chosen]
    if ids:
        work(connection, ids)
        _release(connection, sorted({row.ordering_key for row in chosen if row.ordering_key}))
    return len(ids)


def _let_go(connection: Connection, ids: Sequence[int]) -> None:
    connection.execute(
        update(OutboxRow)
        .where(OutboxRow.id.in_(ids))
        .values(state=State.WAITING.value, reason=None)
    )


def _delete(connection: Connection, ids: Sequence[int]) -> None:
    connection.execute(delete(OutboxRow).where(OutboxRow.id.in_(ids)))


def _release(connection: Connection, keys: Sequence[str]) -> None:
    """Have the held rows of keys wait that have no stopped row any more."""
    stopped = select(OutboxRow.ordering_key).where(
        OutboxRow.state == State.STOPPED.value, OutboxRow.ordering_key.in_(keys)
    )
    still = set(connection.execute(stopped).scalars())
    free = [key for key in keys if key not in still]
    if free:
        connection.execute(
            update(OutboxRow)
            .where(OutboxRow.ordering_key.in_(free), OutboxRow.state == State.HELD.value)
            .values(state=State.WAITING.value)
        )


def _aware(moment: datetime) -> datetime:
    """SQLite keeps no time zone; what is written is UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
