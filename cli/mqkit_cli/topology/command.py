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
    Applied,
    Change,
    ChangeKind,
    Plan,
    Snapshot,
    Topology,
    channels_of,
    compile_topology,
    diff,
    export,
    plan,
)
from mqkit.topology import apply as apply_plan
from mqkit_cli.amqp import transport
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
from mqkit_cli.render import line, note, progress, write_json
from mqkit_cli.topology import view as view
from mqkit_cli.topology.doctor import doctor
from mqkit_cli.topology.files import FILES, FilesOption, check_topology, load_topology
from mqkit_cli.topology.graph import graph
from mqkit_cli.topology.importing import import_command, write_new
from mqkit_cli.topology.schema import schema

EXIT_CHANGES = 2
APPLY_TIMEOUT_S = 60.0

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
    line(f"{topology.file}: valid, declares {view.counted(compile_topology(topology))}")


@app.command(name="plan")
def plan_command(
    files: FilesOption = FILES,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """What an apply would do, with a verdict for each object.

    Exits with 0 if nothing would change, and with 2 if something would.
    """
    topology = load_topology(files)
    found = asyncio.run(_plan(topology, Place(url, management_url, topology.vhost), timeout_s))
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
    vhost, changes = asyncio.run(_diff(topology, place, timeout_s))
    if as_json:
        write_json(view.changes_json(vhost, changes))
    else:
        view.show_changes(changes)
    if any(change.kind in (ChangeKind.MISSING, ChangeKind.DIFFERENT) for change in changes):
        raise typer.Exit(EXIT_CHANGES)


@app.command()
def apply(
    files: FilesOption = FILES,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Declare what is missing. Nothing is changed in place, and nothing is deleted.

    What is there with other properties is refused, with the reason; the rest goes on, and the
    exit code is 1. A second apply finds everything done.
    """
    topology = load_topology(files)
    if management_url and not url:
        raise CommandError("an apply declares over AMQP: give --url too")
    place = Place(url, management_url, topology.vhost)
    applied = asyncio.run(_apply(topology, place, timeout_s))
    if as_json:
        write_json(applied.to_dict())
    else:
        view.show_applied(applied)
    if applied.quarantined:
        count = len(applied.quarantined)
        raise CommandError(
            f"{count} of {len(applied.results)} objects are not as {topology.file} wants them"
            " (a queue or exchange has to be deleted, or declared under a new name, for other"
            " properties)"
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
        write_json(view.declarations_json(snapshot.vhost, snapshot.declarations))
        return
    text = export(snapshot)
    if file is None:
        line(text.rstrip("\n"))
        return
    write_new(file, text)
    note(f"wrote {view.counted(snapshot.declarations)} to {file}")


async def _plan(topology: Topology, place: Place, timeout_s: float) -> Plan:
    async with place.open() as target:
        return plan(compile_topology(topology), await target.snapshot(timeout_s))


async def _diff(
    topology: Topology, place: Place, timeout_s: float
) -> tuple[str, tuple[Change, ...]]:
    async with place.open() as target:
        snapshot: Snapshot = await target.snapshot(timeout_s)
        return snapshot.vhost, diff(compile_topology(topology), snapshot)


async def _apply(topology: Topology, place: Place, timeout_s: float) -> Applied:
    declarations = compile_topology(topology)
    async with (
        place.open() as target,
        channels_of(transport(), target.endpoint, timeout_s=timeout_s) as open_channel,
    ):
        steps = plan(declarations, await target.snapshot(timeout_s))
        done = 0
        with progress("declaring", len(steps.steps)) as show:

            def count(_: object) -> None:
                nonlocal done
                done += 1
                show(done)

            return await apply_plan(
                steps, open_channel, timeout_s=max(timeout_s, APPLY_TIMEOUT_S), on_step=count
            )
