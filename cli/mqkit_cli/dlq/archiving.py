"""``dlq archive`` and ``restore``: a parking lot into a file, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from mqkit.lots.archive.archiving import ArchiveReport
from mqkit.lots.archive.archiving import archive as archive_lot
from mqkit.lots.archive.place import Place
from mqkit.lots.archive.restoring import RestoreReport
from mqkit.lots.archive.restoring import restore as restore_lot
from mqkit.lots.choice import Choice
from mqkit.retry.known_lots import KnownLots
from mqkit_cli.completion.parameters import parking_lot_names
from mqkit_cli.connection import TIMEOUT_S, JsonOption, TimeoutOption, UrlOption
from mqkit_cli.dlq.choosing import with_choice
from mqkit_cli.dlq.naming import LotArgument, LotFilesOption, NamedOption, link_of
from mqkit_cli.dlq.stopping import run_until_asked
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line, plural, progress, write_json
from mqkit_cli.tracing import TraceOption

ChosenBy = Callable[[KnownLots], Choice]


@with_choice
def archive(
    lot: LotArgument,
    chosen: ChosenBy,
    to: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            help="A folder, or a file that ends in .jsonl.gz or .parquet, with {queue}, {date} and"
            " {time} in it.",
        ),
    ] = ".",
    files: LotFilesOption = None,
    named: NamedOption = None,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Move parked messages into a new file. Each leaves the lot when the disk has it.

    Without a condition all of them are archived. Exits with 1 if it had to stop early.
    """
    link = link_of(url, timeout_s, files, named)
    with progress("archiving", None) as show:

        def count(report: ArchiveReport) -> None:
            show(report.seen, report.total)

        report = run_until_asked(
            lambda asked: archive_lot(
                link, lot, Place(to), chosen(link.known), stopping=asked, on_progress=count
            )
        )
    if as_json:
        write_json(report.to_dict())
    elif report.file is None:
        line(f"nothing in {lot} is chosen; no file was made")
    else:
        line(f"archived {plural(report.archived, 'message')} of {lot} in {report.file}")
    if report.stopped:
        raise CommandError(f"stopped: {report.stopped}; the rest is still in {lot}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What dlq archive has written.")],
    lot: Annotated[
        str | None,
        typer.Argument(
            metavar="[LOT]",
            autocompletion=parking_lot_names,
            help="[default: the lot that the file is of]",
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Of a torn file, restore what is whole.")
    ] = False,
    files: LotFilesOption = None,
    named: NamedOption = None,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    trace: TraceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Send the messages of an archive back to their parking lot, but for what it has already.

    The file stays. After a kill the same command goes on. Exits with 1 if it had to stop early.
    """
    link = link_of(url, timeout_s, files, named, trace=trace)
    with progress("restoring", None) as show:

        def count(report: RestoreReport) -> None:
            show(report.restored + report.skipped, report.total)

        report = run_until_asked(
            lambda asked: restore_lot(
                link, file, lot, partial=partial, stopping=asked, on_progress=count
            )
        )
    if as_json:
        write_json(report.to_dict())
    else:
        there = f"; {report.skipped} were there already" if report.skipped else ""
        torn = "" if report.whole else " (the file is torn: this was all of it)"
        count_of = plural(report.total, "message")
        line(f"restored {report.restored} of {count_of} to {report.lot}{there}{torn}")
    if report.stopped:
        raise CommandError(f"stopped: {report.stopped}; the same command goes on")
