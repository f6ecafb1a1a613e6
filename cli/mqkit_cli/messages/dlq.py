"""``mqkit dlq``: parking lots - what failed, why, and sending it back once the cause is gone."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from mqkit.retry.names import is_parking_lot
from mqkit.retry.parked import ParkedMessage, Selection
from mqkit.retry.parking_lot import MAX_PEEK, ParkingLot, ParkingLotTools
from mqkit.retry.replay import ReplayReport
from mqkit_cli.amqp import transport
from mqkit_cli.completion.parameters import parking_lot_names, queue_names
from mqkit_cli.connection import (
    TIMEOUT_S,
    JsonOption,
    ManagementUrlOption,
    TimeoutOption,
    UrlOption,
    endpoints_of,
    target_of,
)
from mqkit_cli.errors import CommandError
from mqkit_cli.messages.pairs import pairs
from mqkit_cli.render import body_text, line, note, plural, progress, write_json, write_table

PEEK_DEFAULT = 10
SHOWN_BODY = 60
NOBODY = "-"
_STAY = {False: "still", True: "would stay"}

app = typer.Typer(
    help="Parking lots: where messages lie that failed for good. They are called QUEUE.parked.",
    no_args_is_help=True,
)

LotArgument = Annotated[
    str,
    typer.Argument(
        metavar="LOT",
        autocompletion=parking_lot_names,
        help="The parking lot's queue, such as delays.parked.",
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        metavar="QUEUE",
        autocompletion=queue_names,
        help="Where to. [default: the queue that they failed on]",
    ),
]


@app.command()
def ls(
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """List the parking lots of a vhost, and how many messages lie in each."""
    endpoints_of(url)
    lots = asyncio.run(_ls(url, management_url, timeout_s))
    if as_json:
        write_json([_lot_json(lot) for lot in lots])
    elif lots:
        rows = [(lot.name, lot.queue, lot.messages, lot.consumers) for lot in lots]
        write_table(("parking lot", "queue", "messages", "consumers"), rows)
    else:
        line("no parking lots")


@app.command()
def peek(
    lot: LotArgument,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=MAX_PEEK, help="At most so many.")
    ] = PEEK_DEFAULT,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Show the first messages of a parking lot, oldest first. They stay where they are."""
    messages = asyncio.run(_tools(url, timeout_s).peek(lot, limit))
    if as_json:
        write_json([message.to_dict() for message in messages])
    elif messages:
        columns = ("message id", "parked at", "attempts", "replays", "reason", "error", "body")
        write_table(columns, map(_row, messages))
    else:
        line(f"{lot} is empty")


@app.command()
def replay(
    lot: LotArgument,
    to: ToOption = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Send at most so many.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="N", min=0.001, help="Send at most so many a second.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Send nothing; count what would be sent.")
    ] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HEADER=VALUE", help="Only messages with this header; repeated: all of them."
        ),
    ] = None,
    message_id: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="ID", help="Only the message with this id; may be repeated."),
    ] = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Only if the reason of parking has this in it.")
    ] = "",
    error: Annotated[
        str, typer.Option(metavar="TEXT", help="Only if the error has this in it.")
    ] = "",
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Send parked messages back to their queue, in order, each confirmed before it leaves the lot.

    Without a condition all of them are sent. Exits with 1 if it had to stop early.
    """
    chosen = Selection(frozenset(message_id or ()), reason, error, pairs(where or (), "--where"))
    with progress("replaying", None) as show:
        report = asyncio.run(
            _tools(url, timeout_s).replay(
                lot,
                chosen,
                to=to,
                limit=limit,
                rate_per_s=rate,
                dry_run=dry_run,
                on_progress=lambda report: show(report.seen, report.total),
            )
        )
    if as_json:
        write_json(report.to_dict())
    else:
        line(_report_line(report))
    if report.guarded:
        note(f"{report.guarded} were replayed too often before, and stay (look with dlq peek)")
    if report.stopped:
        raise CommandError(f"stopped: {report.stopped}; it is still in {lot}")


@app.command()
def purge(
    lot: LotArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Delete every message of a parking lot, after asking. There is no way back."""
    tools = _tools(url, timeout_s)
    if not yes and is_parking_lot(lot):
        found = asyncio.run(tools.ls([lot]))[0]
        if found.exists and found.messages:
            _ask(found)
    count = asyncio.run(tools.purge(lot))
    if as_json:
        write_json({"lot": lot, "purged": count})
    else:
        line(f"purged {plural(count, 'message')} of {lot}")


def _tools(url: str | None, timeout_s: float) -> ParkingLotTools:
    return ParkingLotTools(transport(), endpoints_of(url)[0], timeout_s)


async def _ls(
    url: str | None, management_url: str | None, timeout_s: float
) -> tuple[ParkingLot, ...]:
    target = target_of(url, management_url)
    snapshot = await target.snapshot(timeout_s)
    tools = ParkingLotTools(transport(), target.endpoint, timeout_s)
    return await tools.ls(live.queue.name for live in snapshot.queues)


def _ask(lot: ParkingLot) -> None:
    question = f"Delete {plural(lot.messages, 'message')} of {lot.name}? There is no way back"
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        raise CommandError("nobody answered; nothing was purged (--yes does not ask)") from None
    if not agreed:
        raise CommandError("nothing was purged")


def _lot_json(lot: ParkingLot) -> dict[str, object]:
    return {
        "name": lot.name,
        "queue": lot.queue,
        "messages": lot.messages,
        "consumers": lot.consumers,
    }


def _row(message: ParkedMessage) -> tuple[object, ...]:
    error = ": ".join(part for part in (message.error_type, message.error_message) if part)
    return (
        message.message_id or NOBODY,
        message.parked_at or NOBODY,
        message.attempts,
        message.replays,
        message.reason,
        error,
        body_text(message.delivery.body, SHOWN_BODY),
    )


def _report_line(report: ReplayReport) -> str:
    verb = "would replay" if report.dry_run else "replayed"
    chosen = f"{verb} {report.replayed} of {plural(report.total, 'message')} to {report.to}"
    stay = report.total - report.replayed
    return f"{chosen} ({report.skipped} not chosen; {stay} {_STAY[report.dry_run]} in {report.lot})"
