"""``mqkit topology``: what a file declares, how a broker differs, and making it so.

Exit codes: 0; 1 for any error, and for an apply after which the broker is not as the file wants
it; 2 where plan and diff find that something would change.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from mqkit.topology import (
    ChangeKind,
    Fault,
    Topology,
    check,
    compile_policies,
    compile_topology,
    export,
    load,
)
from mqkit_cli.broker.embedded import Place
from mqkit_cli.connection import (
    TIMEOUT_S,
    JsonOption,
    ManagementUrlOption,
    TimeoutOption,
    UrlOption,
    target_of,
)
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line, note, write_json
from mqkit_cli.topology import view as view
from mqkit_cli.topology.planning import (
    ForceOption,
    PruneOption,
    carried_out,
    compared,
    planned,
    pruned,
)

EXIT_CHANGES = 2

app = typer.Typer(
    help="A topology file: check it, compare it with a broker, declare it.",
    epilog="With neither --url nor MQKIT_URL, plan, apply and diff try the file out on an embedded"
    " broker that ends with the command.",
    no_args_is_help=True,
)

FileOption = Annotated[
    Path, typer.Option("--file", "-f", metavar="FILE", help="The topology, in YAML.")
]
FILE = Path("topology.yaml")


@app.command()
def validate(file: FileOption = FILE, as_json: JsonOption = False) -> None:
    """Check a file, without a broker: every fault with its line, and what was expected."""
    faults = _faults(file) if as_json else []
    if as_json:
        write_json(
            {
                "file": str(file),
                "valid": not faults,
                "faults": [
                    {"line": fault.line, "path": fault.path, "message": fault.message}
                    for fault in faults
                ],
            }
        )
        if faults:
            raise typer.Exit(1)
        return
    topology = _load(file)
    objects = (*compile_topology(topology), *compile_policies(topology))
    line(f"{file}: valid, declares {view.counted(objects)}")


@app.command(name="plan")
def plan_command(
    file: FileOption = FILE,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    prune: PruneOption = False,
    force: ForceOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """What an apply would do, with a verdict for each object.

    Exits with 0 if nothing would change, and with 2 if something would.
    """
    topology = _load(file)
    place = Place(url, management_url, topology.vhost)
    found = asyncio.run(planned(topology, place, pruned(prune, force), timeout_s))
    if as_json:
        write_json(found.to_dict())
    else:
        view.show_plan(found)
    if found.changes:
        raise typer.Exit(EXIT_CHANGES)


@app.command(name="diff")
def diff_command(
    file: FileOption = FILE,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """How a broker differs from the file: missing, different, and what it has besides.

    Exits with 0 if everything of the file is there as it says, and with 2 if not.
    """
    topology = _load(file)
    place = Place(url, management_url, topology.vhost)
    found = asyncio.run(compared(topology, place, timeout_s))
    changes = found.changes
    if as_json:
        write_json(view.changes_json(found.vhost, changes, found.unseen))
    else:
        view.show_changes(changes, found.unseen)
    if any(change.kind in (ChangeKind.MISSING, ChangeKind.DIFFERENT) for change in changes):
        raise typer.Exit(EXIT_CHANGES)


@app.command()
def apply(
    file: FileOption = FILE,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    prune: PruneOption = False,
    force: ForceOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Declare what is missing, and set policies. Nothing else is changed in place, and nothing is
    deleted without --prune.

    What is there with other properties is refused, with the reason; the rest goes on, and the
    exit code is 1. A second apply finds everything done.
    """
    topology = _load(file)
    if management_url and not url:
        raise CommandError("an apply declares over AMQP: give --url too")
    place = Place(url, management_url, topology.vhost)
    applied = asyncio.run(carried_out(topology, place, pruned(prune, force), timeout_s))
    if as_json:
        write_json(applied.to_dict())
    else:
        view.show_applied(applied)
    if applied.quarantined:
        count = len(applied.quarantined)
        raise CommandError(
            f"{count} of {len(applied.results)} objects are not as {file} wants them (a queue or"
            " exchange has to be deleted, or declared under a new name, for other properties;"
            " policies need the management API)"
        )


@app.command(name="export")
def export_command(
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", metavar="FILE", help="Write it here, not to stdout; must be new."
        ),
    ] = None,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """What a broker has, as a topology file that plans as no change."""
    target = target_of(url, management_url)
    snapshot = asyncio.run(target.snapshot(timeout_s))
    if as_json:
        write_json(view.snapshot_json(snapshot))
        return
    text = export(snapshot)
    if file is None:
        line(text.rstrip("\n"))
        return
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise CommandError(f"{file} is there already: name a new file, or move it away") from None
    objects = (*snapshot.declarations, *snapshot.policies)
    note(f"wrote {view.counted(objects)} to {file}")


def _load(file: Path) -> Topology:
    """The file's topology. Raises :exc:`CommandError` where there is no file, and
    :exc:`~mqkit.errors.TopologyError` for what is wrong in it."""
    _must_be_there(file)
    return load(file)


def _must_be_there(file: Path) -> None:
    if file.is_dir():
        raise CommandError(f"{file} is a directory: name the topology's file with --file FILE")
    if not file.exists():
        raise CommandError(f"there is no file {file}: name the topology with --file FILE")


def _faults(file: Path) -> list[Fault]:
    """Every fault of the file's text; a file that can't be read at all is an error."""
    _must_be_there(file)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        load(file)  # raises, and says why
        raise
    return check(text, str(file))[1]
