"""``python -m interop.migration``: exit code 1 when a promise is broken."""

from __future__ import annotations

from typing import Annotated

import typer

from interop.command import Broker, Seed, chosen, command, end_with_folder
from interop.migration.run import Options, run


def migration(
    broker: Broker = "reference",
    kills: Annotated[int, typer.Option(min=0, help="So many processes are killed.")] = 200,
    seconds: Annotated[float, typer.Option(help="No kills after that.")] = 86_400.0,
    seed: Seed = None,
) -> None:
    """A queue is migrated again and again, by processes that are killed."""
    seed = chosen(seed)
    print(f"migration: {broker}, {kills} kills, --seed {seed}", flush=True)
    end_with_folder(
        "migration",
        lambda folder: run(Options(broker, kills, seconds, seed, folder)),
        kept="topology and journal: {folder}",
    )


if __name__ == "__main__":
    command(migration, "migration")
