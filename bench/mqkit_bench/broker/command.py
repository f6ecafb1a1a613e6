"""``broker``: scenario by scenario, the reference broker beside RabbitMQ, others, and the floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from mqkit_bench.broker.catalogue import CATALOGUE
from mqkit_bench.broker.contest import compete
from mqkit_bench.broker.entrant import RABBITMQ, Entrant, entrants
from mqkit_bench.broker.floor import floor
from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.broker.standing import Standing, table
from mqkit_bench.data_folder import disk_kind
from mqkit_bench.message import BODY_BYTES_MAX
from mqkit_bench.report import JsonFile, write_json

Against = Annotated[
    list[str],
    typer.Option(
        metavar="NAME=URL[,MANAGEMENT-URL]",
        help="Another broker that runs; 'rabbitmq' is a private one of this machine.",
    ),
]
WithRabbitMQ = Annotated[bool, typer.Option("--rabbitmq/--no-rabbitmq", help="And RabbitMQ.")]


def chosen(names: Sequence[str], bodies: Sequence[int]) -> Iterator[Scenario]:
    """The named scenarios, all without a name, each with these body sizes or its own.

    Raises ``typer.BadParameter`` for a name that is none.
    """
    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise typer.BadParameter(f"no scenario {unknown[0]!r}: one of {', '.join(CATALOGUE)}")
    for entry in CATALOGUE.values():
        if not names or entry.name in names:
            for body_bytes in bodies or entry.bodies:
                yield entry.make(body_bytes)


def others(rabbitmq: bool, against: Sequence[str]) -> list[str]:
    """The brokers that compete with the reference broker."""
    return list(dict.fromkeys([RABBITMQ, *against] if rabbitmq else against))


def modes(entrants: Sequence[Entrant]) -> str:
    """Each entrant's sync before a confirm, in a line each."""
    return "\n".join(
        f"* {entrant.name}: sync before a confirm: {entrant.sync_mode}." for entrant in entrants
    )


def broker(
    scenario: Annotated[
        list[str], typer.Option(help=f"One of {', '.join(CATALOGUE)}; again for another.")
    ] = [],  # noqa: B006 - typer reads it
    body_bytes: Annotated[
        list[int], typer.Option(min=0, max=BODY_BYTES_MAX, help="Bytes of each body; repeatable.")
    ] = [],  # noqa: B006 - typer reads it
    rounds: int = typer.Option(5, min=1, help="Rounds that count, after one that does not."),
    seconds: float = typer.Option(5.0, min=0.05, help="Seconds of publishing in each round."),
    against: Against = [],  # noqa: B006 - typer reads it
    rabbitmq: WithRabbitMQ = True,
    relay: bool = typer.Option(True, help="And floors: a bare relay; a sync and a round trip."),
    json_file: JsonFile = None,
) -> None:
    """What a broker's work costs: throughput, CPU a message and memory, every message counted."""
    scenarios = list(chosen(scenario, body_bytes))
    kind = disk_kind()
    standings: list[Standing] = []
    with entrants(others(rabbitmq, against), relay=relay) as competing:
        if relay and (ours := competing[0].contestant) is not None:
            competing.append(floor(ours))
        for each in scenarios:
            standings += compete(competing, each, rounds, seconds)
            write_json(json_file, standings)
        synced = modes(competing)
    print(
        f"{rounds} alternating rounds of {seconds:g} s, medians; ours is the reference broker; all"
        f" that was sent was confirmed, delivered and acked where the scenario says so; data on"
        f" {kind}.\n{synced}\n"
    )
    print(table(standings))
