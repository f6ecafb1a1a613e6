"""``stalls``: each action of the catalogue beside a client that waits for its confirms."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from mqkit_bench.broker.command import Against, WithRabbitMQ, others
from mqkit_bench.data_folder import disk_kind
from mqkit_bench.report import JsonFile, write_json
from mqkit_bench.stalls.action import Action
from mqkit_bench.stalls.catalogue import CATALOGUE
from mqkit_bench.stalls.neighbour import sync_beside
from mqkit_bench.stalls.played import Standing, compete
from mqkit_bench.stalls.replaceable import replaceable_brokers
from mqkit_bench.stalls.table import table
from mqkit_bench.worker import Worker


def chosen(names: Sequence[str]) -> list[Action]:
    """The named actions, all without a name. Raises ``typer.BadParameter`` for another name."""
    for name in names:
        if name not in CATALOGUE:
            raise typer.BadParameter(f"no action {name!r}: one of {', '.join(CATALOGUE)}")
    return [action for action in CATALOGUE.values() if action.name in names or not names]


def stalls(
    only: Annotated[
        list[str], typer.Option(metavar="ACTION", help="Only this one; again for another.")
    ] = [],  # noqa: B006 - typer reads it
    plays: int = typer.Option(3, min=1, help="Plays of each action on each broker."),
    scale: float = typer.Option(1.0, min=0.0001, max=1.0, help="Part of each action's numbers."),
    against: Against = [],  # noqa: B006 - typer reads it
    rabbitmq: WithRabbitMQ = True,
    json_file: JsonFile = None,
) -> None:
    """The longest that another virtual host's client waits while a user asks for much."""
    actions = chosen(only)
    kind = disk_kind()
    standings: list[Standing] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mqkit-bench-")))
        neighbour = stack.enter_context(Worker(sync_beside, str(folder)))
        neighbour.report()
        brokers = stack.enter_context(replaceable_brokers(others(rabbitmq, against)))
        for action in actions:
            for number, broker in enumerate(brokers):
                if number and action.is_mqkits:
                    continue
                if not number:
                    broker.replace()  # its longest turn is one of this action
                standings.append(compete(broker, neighbour, action, scale, plays))
                write_json(json_file, standings)
    print(
        f"Another virtual host's client publishes every 10 ms; its longest wait for a confirm,"
        f" median of {plays} plays; beside the persistent one the longest fdatasync of another"
        f" process; scale {scale:g}; data on {kind}.\n"
    )
    print(table(standings))
