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
    compile_policies,
    compile_topology,
    export,
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
from mqkit_cli.topology.doctor import doctor
from mqkit_cli.topology.files import FILES, FilesOption, check_topology, load_topology
from mqkit_cli.topology.graph import graph
from mqkit_cli.topology.importing import import_command, write_new
from mqkit_cli.topology.migrate import migrate
from mqkit_cli.topology.planning import (
    ForceOption,
    PruneOption,
    carried_out,
    compared,
    planned,
    pruned,
)
from mqkit_cli.topology.schema import schema

EXIT_CHANGES = 2

app = typer.Typer(
    help="A topology file: check it, compare it with a broker, declare it.",
    epilog="With neither --url nor MQKIT_URL, plan, apply and diff try the file out on an embedded"
    " broker that ends with the command.",
    no_args_is_help=True,
)
app.command()(schema)
app.command(name="import")(import_command)
app.command()(doctor)
app.command()(graph)
app.command()(migrate)


@app.command()
def validate(files: FilesOption = FILES, as_json: JsonOption = False) -> None:
    """Check a file, without a broker: every fault with its line, and what was expected."""
    if as_json:
        topology, faults = check_topology(files)
        write_json(view.faults_json(topology.file, files, faults))
        if faults:
            raise typer.Exit(1)
        return
    topology = load_topology(files)
    objects = (*compile_topology(topology), *compile_policies(topology))
    line(f"{topology.file}: valid, declares {view.counted(objects)}")


@app.command(name="plan")
def plan_command(
    files: FilesOption = FILES,
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
    topology = load_topology(files)
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
    files: FilesOption = FILES,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """How a broker differs from the file: missing, different, and what it has besides.

    Exits with 0 if everything of the file is there as it says, and with 2 if not.
    """
    topology = load_topology(files)
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
    files: FilesOption = FILES,
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
    topology = load_topology(files)
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
            f"{count} of {len(applied.results)} objects are not as {topology.file} wants them"
            " (a queue or exchange has to be deleted, or declared under a new name, for other"
            " properties; policies need the management API)"
        )


@app.command(name="export")
def export_command(
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", metavar="FILE", help="Write it here, not to stdout; must be new."
        ),
    ] = None,
    like: Annotated[
        list[Path] | None,
        typer.Option(
            "--like",
            metavar="FILE",
            help="A topology that the broker was made from: its retry policies, and the names that"
            " they give, are folded back. Several are laid over each other.",
        ),
    ] = None,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """What a broker has, as a topology file that plans as no change."""
    known = load_topology(like) if like else None
    target = target_of(url, management_url)
    snapshot = asyncio.run(target.snapshot(timeout_s))
    if as_json:
        write_json(view.snapshot_json(snapshot))
        return
    text = export(snapshot, known)
    if file is None:
        line(text.rstrip("\n"))
        return
    write_new(file, text)
    objects = (*snapshot.declarations, *snapshot.policies)
    note(f"wrote {view.counted(objects)} to {file}")
