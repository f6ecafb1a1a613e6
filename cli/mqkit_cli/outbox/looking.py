"""``mqkit outbox ls``: the rows as they are."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mqkit_cli.connection import JsonOption
from mqkit_cli.outbox.place import DatabaseOption, with_database
from mqkit_cli.render import line, plural, write_json, write_table

if TYPE_CHECKING:
    from mqkit.outbox.database import Database
    from mqkit.outbox.repair import Depth, Listed

LIMIT = 100


def ls(
    state: Annotated[
        Literal["waiting", "held", "stopped", "sent"],
        typer.Option(help="The rows to list; what waits, and was refused for now, has a reason."),
    ] = "stopped",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="So many rows at most.")] = LIMIT,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the rows that are stopped, with the broker's reason, and count those in each state."""
    from mqkit.outbox.repair import depths, list_rows
    from mqkit.outbox.state import State

    async def look(found: Database) -> tuple[list[Listed], list[Depth]]:
        return await list_rows(found, [State(state)], limit), await depths(found)

    rows, counts = with_database(database, look)
    if as_json:
        write_json({"rows": list(map(asdict, rows)), "states": list(map(asdict, counts))})
        return
    now = datetime.now(UTC)
    if rows:
        write_table(
            ("id", "ordering key", "exchange", "routing key", "message id", "age", "reason"),
            [
                (
                    row.id,
                    row.ordering_key or "",
                    row.exchange,
                    row.routing_key,
                    row.message_id,
                    _age(now, row.created_at),
                    row.reason or "",
                )
                for row in rows
            ],
        )
    for depth in counts:
        oldest = "" if depth.oldest is None else f", the oldest {_age(now, depth.oldest)} old"
        line(f"{depth.state}: {plural(depth.rows, 'row')}{oldest}")
    if not counts:
        line("the outbox is empty")


def _age(now: datetime, since: datetime) -> str:
    seconds = max(0, int((now - since).total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
