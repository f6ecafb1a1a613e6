"""``mqkit outbox retry`` and ``purge``: what the broker refused, again or never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mqkit.retry.duration import parse_duration
from mqkit_cli.connection import JsonOption
from mqkit_cli.consent import require_consent
from mqkit_cli.errors import CommandError
from mqkit_cli.outbox.place import DatabaseOption, with_database
from mqkit_cli.render import line, plural, write_json

if TYPE_CHECKING:
    from mqkit.outbox.repair import Choice

IdOption = Annotated[
    list[int] | None, typer.Option("--id", metavar="ID", help="A row, as ls shows it; repeatable.")
]
KeyOption = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="KEY", help="The stopped rows of an ordering key; repeatable."),
]
AllOption = Annotated[bool, typer.Option("--all", help="Every row that is stopped.")]


def retry(
    ids: IdOption = None,
    keys: KeyOption = None,
    every: AllOption = False,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have stopped rows published again, once the cause is gone, and what waits behind them."""
    choice = _choice(ids, keys, every)
    from mqkit.outbox import repair

    count = with_database(database, lambda found: repair.retry(found, choice))
    if as_json:
        write_json({"retried": count})
    else:
        line(f"{plural(count, 'row')} will be published again")


def purge(
    ids: IdOption = None,
    keys: KeyOption = None,
    every: AllOption = False,
    sent: Annotated[
        str | None,
        typer.Option(
            metavar="AGE", help="Rows that were confirmed longer ago: 7d. (Nothing is lost by it.)"
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete stopped rows, whose messages are lost, after asking; or rows that are sent."""
    if sent is not None:
        if ids or keys or every:
            raise CommandError("--sent goes alone: --id, --key and --all are for stopped rows")
        count = _purge_sent(database, sent)
    else:
        choice = _choice(ids, keys, every)
        if not yes:
            _ask()
        from mqkit.outbox import repair

        count = with_database(database, lambda found: repair.purge(found, choice))
    if as_json:
        write_json({"purged": count})
    else:
        line(f"purged {plural(count, 'row')}")


def _purge_sent(database: str | None, age: str) -> int:
    from datetime import timedelta

    from mqkit.outbox import repair

    older_than = timedelta(milliseconds=parse_duration(age))
    return with_database(database, lambda found: repair.purge_sent(found, older_than))


def _choice(ids: list[int] | None, keys: list[str] | None, every: bool) -> Choice:
    from mqkit.outbox.repair import Choice

    if every == bool(ids or keys):
        raise CommandError("say which rows: --id, --key, or --all of them")
    return Choice(ids or (), keys or (), every)


def _ask() -> None:
    require_consent("Delete stopped rows? Their messages are lost", "nothing was purged")
