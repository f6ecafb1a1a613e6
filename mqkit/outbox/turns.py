"""Turns: the time for which one relay works on some partitions, and no other relay does.

On PostgreSQL a turn is a transaction that holds an advisory lock for each of its partitions, until
its outcomes are committed; a relay that dies, or loses its connection, has let go of them. On
SQLite a relay has all partitions for as long as it has the lock of a file beside the database, for
a transaction that waits for a broker would keep everybody from writing.
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from sqlalchemy import Connection, exists, literal, select, text, union_all

from mqkit.errors import ConfigurationError
from mqkit.outbox.database import Database, Run
from mqkit.outbox.dialect import POSTGRESQL
from mqkit.outbox.partition import PARTITIONS
from mqkit.outbox.tables import OutboxRow

PARTITIONS_AT_ONCE = 16
"""A quarter: the other relays find work, too."""
LOCK_SPACE = 0x6D716B6F
"""The first of an advisory lock's two numbers; the second is the partition."""
LOCK_SUFFIX = "-mqkit-relay"

IS_WAITING = text("mqkit_outbox.state = 'waiting'")
"""A literal, and no parameter: or a prepared statement could not use the partial index."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Partitions that are this relay's; none if there is nothing to do, or others have them. What
    is written goes through ``run``."""

    run: Run
    partitions: Sequence[int]


def turns_of(database: Database) -> PostgresTurns | SqliteTurns:
    """The turns that the database has a way for."""
    return PostgresTurns(database) if database.dialect == POSTGRESQL else SqliteTurns(database)


class PostgresTurns:
    """Several relays share the partitions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def turn(self, resting: Collection[int]) -> AsyncIterator[Turn]:
        """A turn at some partitions that have work, and are not ``resting``."""
        async with self._database.transaction() as run:
            yield Turn(run, await run(partial(_locked, resting)))

    def close(self) -> None:
        """Nothing is held between turns."""


class SqliteTurns:
    """One relay at a time has everything. Raises :exc:`~mqkit.errors.ConfigurationError` for a
    database in memory, which each connection has one of."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._path = _lock_path(database.engine.url.database)
        self._descriptor: int | None = None

    @asynccontextmanager
    async def turn(self, resting: Collection[int]) -> AsyncIterator[Turn]:
        """As :meth:`PostgresTurns.turn`; each work that is run is committed by itself."""
        run = self._database.run
        yield Turn(run, await run(partial(_with_work, resting)) if self._take() else ())

    def close(self) -> None:
        """Let go of the lock. Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self) -> bool:
        if self._descriptor is not None:
            return True
        import fcntl  # not on Windows, where this relay does not run

        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True


def _with_work(resting: Collection[int], connection: Connection) -> list[int]:
    """The partitions that have waiting rows. Each is looked up in the index, so that a long backlog
    costs no more than a short one."""
    looked_at = [number for number in range(PARTITIONS) if number not in resting]
    if not looked_at:
        return []
    probes = [
        select(literal(number)).where(
            exists().where(OutboxRow.partition == number, IS_WAITING).correlate(None)
        )
        for number in looked_at
    ]
    return list(connection.execute(union_all(*probes)).scalars())


def _locked(resting: Collection[int], connection: Connection) -> list[int]:
    found = _with_work(resting, connection)
    random.shuffle(found)  # the relays begin at different ends, and no partition is always last
    asked = found[:PARTITIONS_AT_ONCE]
    if not asked:
        return []
    answers = connection.execute(
        text(
            "SELECT n, pg_try_advisory_xact_lock(:space, n)"
            " FROM unnest(CAST(:numbers AS integer[])) AS n"
        ),
        {"space": LOCK_SPACE, "numbers": asked},
    )
    return [number for number, has_lock in answers if has_lock]


def lock_partition(connection: Connection, number: int) -> None:
    """Have a partition until the end of the transaction, as a relay has it in its turn; wait for
    the relay that has it now. For SQLite its transactions are enough."""
    if connection.dialect.name == POSTGRESQL:
        connection.execute(
            text("SELECT pg_advisory_xact_lock(:space, :number)"),
            {"space": LOCK_SPACE, "number": number},
        )


def _lock_path(database: str | None) -> str:
    if database is not None and database.startswith("file:"):
        database = urlsplit(database).path
    if not database or ":memory:" in database:
        raise ConfigurationError(
            "the outbox is in a SQLite database in memory, and a relay has to see it from a"
            " connection of its own: give the database a file"
        )
    return f"{database}{LOCK_SUFFIX}"
