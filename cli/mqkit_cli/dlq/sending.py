"""``dlq replay`` and ``move``: messages out of a parking lot, each confirmed before it leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from mqkit.lots.choice import Choice
from mqkit.lots.moving import MoveReport
from mqkit.lots.moving import move as move_lot
from mqkit.lots.replay.edits import EDITS_MAX, Change, set_edit, unset_edit
from mqkit.lots.replay.outgoing import Route
from mqkit.lots.replay.replaying import ReplayRequest, Watch
from mqkit.lots.replay.replaying import replay as replay_lot
from mqkit.lots.replay.report import ReplayReport
from mqkit.retry.known_lots import KnownLots
from mqkit_cli.completion.parameters import queue_names
from mqkit_cli.connection import TIMEOUT_S, JsonOption, TimeoutOption, UrlOption
from mqkit_cli.dlq.choosing import with_choice
from mqkit_cli.dlq.naming import LotArgument, LotFilesOption, NamedOption, link_of
from mqkit_cli.dlq.stopping import run_until_asked
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line, note, plural, printable, progress, write_json
from mqkit_cli.tracing import TraceOption

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:/s)?")
ChosenBy = Callable[[KnownLots], Choice]

ToOption = Annotated[
    str | None,
    typer.Option(
        metavar="QUEUE",
        autocompletion=queue_names,
        help="Where to. [default: the queue that each failed on]",
    ),
]


@with_choice
def replay(
    lot: LotArgument,
    chosen: ChosenBy,
    to: ToOption = None,
    original: Annotated[
        bool, typer.Option("--original", help="To the original exchange and routing key.")
    ] = False,
    rate: Annotated[
        str | None, typer.Option(metavar="N", help="At most so many a second, such as 50/s.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Send nothing; count what would be sent.")
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Change body.FIELD or header.NAME; repeatable."
        ),
    ] = None,
    unsets: Annotated[
        list[str] | None,
        typer.Option("--unset", metavar="FIELD", help="Take a field or header away; repeatable."),
    ] = None,
    files: LotFilesOption = None,
    named: NamedOption = None,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    trace: TraceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Send parked messages back to their queue, in order, each confirmed before it leaves the lot.

    Without a condition all of them are sent. After a kill the same command goes on, and names what
    may have been sent twice. Exits with 1 if it had to stop early.
    """
    link = link_of(url, timeout_s, files, named, trace=trace)
    edits = (*map(set_edit, sets or ()), *map(unset_edit, unsets or ()))
    if len(edits) > EDITS_MAX:
        raise CommandError(f"at most {EDITS_MAX} of --set and --unset, not {len(edits)}")
    route, per_s = Route(to, original), _rate(rate)
    request = ReplayRequest(lot, chosen(link.known), route, edits, per_s, dry_run)
    with progress("replaying", None) as show:

        def count(report: ReplayReport) -> None:
            show(report.seen, report.total)

        report = run_until_asked(
            lambda asked: replay_lot(
                link, request, Watch(count, _say_repeated, _show_changes, asked)
            )
        )
    _end(report, as_json=as_json)


@with_choice
def move(
    lot: LotArgument,
    to: Annotated[
        str,
        typer.Argument(metavar="QUEUE", autocompletion=queue_names, help="The queue to move to."),
    ],
    chosen: ChosenBy,
    files: LotFilesOption = None,
    named: NamedOption = None,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    trace: TraceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Move parked messages into another queue as they are, headers included.

    Without a condition all of them are moved. Exits with 1 if it had to stop early.
    """
    link = link_of(url, timeout_s, files, named, trace=trace)
    with progress("moving", None) as show:

        def count(report: MoveReport) -> None:
            show(report.seen, report.total)

        report = run_until_asked(
            lambda asked: move_lot(
                link, lot, to, chosen(link.known), stopping=asked, on_progress=count
            )
        )
    if as_json:
        write_json(report.to_dict())
    else:
        line(f"moved {report.moved} of {plural(report.total, 'message')} of {lot} to {to}")
    if report.stopped:
        raise CommandError(f"stopped: {report.stopped}; the rest is still in {lot}")


def _rate(text: str | None) -> float | None:
    if text is None:
        return None
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise CommandError(f"--rate {text!r} is no rate (expected messages a second, like 50/s)")
    return float(found[1])


def _say_repeated(names: Sequence[str]) -> None:
    shown = ", ".join(map(printable, names))
    note(f"an earlier run may have sent {len(names)} of these already: {shown}")


def _show_changes(name: str, changes: Sequence[Change]) -> None:
    note(f"message {printable(name)}:")
    for change in changes:
        for text in change.lines():
            note(f"  {printable(text)}")


def _end(report: ReplayReport, *, as_json: bool) -> None:
    if as_json:
        write_json(report.to_dict())
    else:
        line(_report_line(report))
    if report.guarded:
        note(f"{report.guarded} were replayed too often before, and stay (look with dlq peek)")
    if report.kept:
        note(f"{report.kept} can't be sent, and stay: {printable(report.reason)}")
    if report.in_doubt:
        shown = ", ".join(map(printable, report.in_doubt))
        note(f"{len(report.in_doubt)} may have been sent, and are still in the lot: {shown}")
    if report.stopped:
        raise CommandError(f"stopped: {report.stopped}; it is still in {report.lot}")


def _report_line(report: ReplayReport) -> str:
    verb = "would replay" if report.dry_run else "replayed"
    where = f" to {report.to}" if report.to else ""
    chosen = f"{verb} {report.replayed} of {plural(report.total, 'message')}{where}"
    stay = report.total - report.replayed
    still = "would stay" if report.dry_run else "still"
    return f"{chosen} ({report.skipped} not chosen; {stay} {still} in {report.lot})"
