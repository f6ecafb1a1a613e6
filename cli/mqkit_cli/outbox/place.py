"""The database that a command speaks to, by its option and the environment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from mqkit_cli.errors import CommandError

if TYPE_CHECKING:
    from mqkit.outbox.database import AnyEngine, Database

ResultT = TypeVar("ResultT")

DATABASE_VARIABLE = "MQKIT_DATABASE_URL"

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar=DATABASE_VARIABLE,
        help="As SQLAlchemy has it: postgresql+psycopg://USER:PASSWORD@HOST/NAME, or"
        " sqlite:////PATH",
    ),
]


def engine_for(url: str | None) -> AnyEngine:
    """The engine. Raises :exc:`CommandError` if there is no URL."""
    if not url:
        raise CommandError(f"no database: give --database URL or set {DATABASE_VARIABLE}")
    from mqkit.outbox.database import engine_of  # SQLAlchemy, which no other command needs

    return engine_of(url)


def with_database(url: str | None, use: Callable[[Database], Awaitable[ResultT]]) -> ResultT:
    """Run ``use`` with the database. Raises :exc:`CommandError` where it can't be used."""
    engine = engine_for(url)
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    from mqkit.outbox.database import Database

    database = Database(engine)

    async def run() -> ResultT:
        try:
            return await use(database)
        finally:
            await database.dispose()

    try:
        return asyncio.run(run())
    except (SQLAlchemyError, OSError) as error:
        # SQLAlchemy's own text goes on with the statement and its parameters.
        cause = error.orig if isinstance(error, DBAPIError) else error
        lines = str(cause).strip().splitlines()
        raise CommandError(
            f"the database: {lines[0] if lines else type(error).__name__}"
            " (check --database, and that it has the tables of mqkit.outbox)"
        ) from error
