"""``mqkit broker store``: a broker's data folder, for an operator whose disk is broken.

Exit codes: 0; 1 for any error; 2 for a check that found damage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from mqkit_cli.completion import parameters as completion
from mqkit_cli.connection import JsonOption
from mqkit_cli.errors import CommandError
from mqkit_cli.render import note, plural, write_json
from mqkit_cli.store.data_dir import held, in_use, is_in_use, opened, read_steadily
from mqkit_cli.store.report import health_json, repair_json, show_health, show_repair
from mqkit_cli.store.stored_json import message_json, record_json
from reference_broker.store.disk.ports import Disk
from reference_broker.store.doctor.contents import look, stored_messages
from reference_broker.store.doctor.examination import examine
from reference_broker.store.doctor.inspection import seen_records
from reference_broker.store.doctor.queue_names import QueueName, queue_names
from reference_broker.store.doctor.repair import plan_repair
from reference_broker.store.doctor.repair import repair as repair_folder

EXIT_DAMAGED = 2

app = typer.Typer(
    help="A broker's data folder: check it, save the messages of a broken disk, repair it.",
    short_help="Check, dump and repair a data folder.",
    no_args_is_help=True,
)

FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The broker's data folder (its --data-dir).")
]


@app.command()
def check(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Read every byte of a data folder, and tell what is in it and what is damaged.

    Changes nothing. Exits with 0 if all is sound, and with 2 if something is damaged. A tail that
    was never synced is sound, and told.
    """
    at_rest = not is_in_use(folder)
    if not at_rest:
        note(f"{folder} is in use by a broker: the figures may be moving")
    health = read_steadily(folder, lambda disk: examine(disk, at_rest=at_rest)).health
    if as_json:
        write_json(health_json(health, at_rest=at_rest))
    else:
        show_health(health, at_rest=at_rest)
    if not health.sound:
        raise typer.Exit(EXIT_DAMAGED)


@app.command()
def dump(
    folder: FolderArgument,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completion.queue_names,
            help="Only this queue; or its id, where its name is lost.",
        ),
    ] = None,
    records: Annotated[
        bool,
        typer.Option("--records", help="Every record of every segment, instead of messages."),
    ] = False,
    bodies: Annotated[
        bool, typer.Option("--bodies/--no-bodies", help="Whether the messages' bodies are shown.")
    ] = True,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many lines.")
    ] = None,
) -> None:
    """Print the messages that are in a data folder's queues, as JSON, one on each line.

    Changes nothing, and works on a folder that the broker refuses. What can't be read is left out
    and counted on stderr. Each line can be given to the management API's publish as it is.
    """
    if records and queue is not None:
        raise CommandError(
            "--queue chooses messages, and --records are not messages: leave one out"
        )
    if is_in_use(folder):
        note(f"{folder} is in use by a broker: messages may come and go meanwhile")
    with opened(folder) as disk:
        rows = _records(disk, bodies) if records else _messages(disk, queue, bodies)
        for row in islice(rows, limit):
            write_json(row, lines=True)


@app.command()
def repair(
    folder: FolderArgument,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; tell what would be done.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a damaged data folder sound: everything that can be read is kept.

    Not while a broker uses it. Damaged files are put aside as FILE.quarantine. May be interrupted,
    and run again.
    """
    if dry_run:
        if is_in_use(folder):
            raise in_use(folder)
        done = read_steadily(folder, plan_repair)
    else:
        with held(folder) as disk:
            done = repair_folder(disk)
    if as_json:
        write_json(repair_json(done, dry_run=dry_run))
    else:
        show_repair(done, dry_run=dry_run)


def _records(disk: Disk, bodies: bool) -> Iterator[dict[str, Any]]:
    for seen in seen_records(disk):
        yield record_json(seen, bodies=bodies)


def _messages(disk: Disk, queue: str | None, bodies: bool) -> Iterator[dict[str, Any]]:
    recovered = look(disk)
    names = queue_names(recovered.definitions)
    wanted = None if queue is None else _ids(queue, names, recovered.queues)
    unreadable = 0
    for message in stored_messages(disk, recovered, wanted):
        if message.content is None:
            unreadable += 1
            continue
        name = names.get(message.queue_id)
        yield message_json(message, message.content, name, bodies=bodies)
    if unreadable:
        note(f"{plural(unreadable, 'message')} can't be read and are left out")


def _ids(queue: str, names: Mapping[int, QueueName], queue_ids: Collection[int]) -> Collection[int]:
    """The queue of that name, in whichever vhosts; or of that id, if it has messages."""
    found = {queue_id for queue_id, name in names.items() if name.name == queue}
    found |= {queue_id for queue_id in queue_ids if str(queue_id) == queue}
    if not found:
        known = ", ".join(sorted(name.name for name in names.values())) or "none"
        raise CommandError(f"no durable queue {queue} is in the folder (there are: {known})")
    return found
