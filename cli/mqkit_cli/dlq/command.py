"""``mqkit dlq``: parking lots - what failed, why, and sending it back once the cause is gone."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from mqkit.lots.listing import ParkingLot
from mqkit.lots.listing import ls as list_lots
from mqkit.lots.purging import purge as purge_lot
from mqkit_cli.connection import TIMEOUT_S, JsonOption, TimeoutOption, UrlOption
from mqkit_cli.consent import require_consent
from mqkit_cli.dlq.archiving import archive, restore
from mqkit_cli.dlq.looking import ls, peek, stats
from mqkit_cli.dlq.naming import LotArgument, LotFilesOption, NamedOption, link_of
from mqkit_cli.dlq.sending import move, replay
from mqkit_cli.render import line, plural, write_json

app = typer.Typer(
    help="Parking lots: where messages lie that failed for good. They are called QUEUE.parked, or"
    " as a topology file or --lot says.",
    no_args_is_help=True,
)
for command in (ls, peek, stats, replay, move, archive, restore):
    app.command()(command)


@app.command()
def purge(
    lot: LotArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    files: LotFilesOption = None,
    named: NamedOption = None,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Delete every message of a parking lot, after asking. There is no way back."""
    link = link_of(url, timeout_s, files, named)
    if not yes and link.known.is_lot(lot):
        (found,) = asyncio.run(list_lots(link, [lot]))
        if found.exists and found.messages:
            _ask(found)
    count = asyncio.run(purge_lot(link, lot))
    if as_json:
        write_json({"lot": lot, "purged": count})
    else:
        line(f"purged {plural(count, 'message')} of {lot}")


def _ask(lot: ParkingLot) -> None:
    question = f"Delete {plural(lot.messages, 'message')} of {lot.name}? There is no way back"
    require_consent(question, "nothing was purged")
