"""``python -m interop.leaders``: exit code 1 when a promise is broken; the facts are kept then."""

from __future__ import annotations

from typing import Annotated

import typer

from interop.command import Broker, Seed, chosen, command, end_with_folder
from interop.leaders.run import Options, run


def leaders(
    broker: Broker = "reference",
    kills: Annotated[int, typer.Option(min=0, help="So many leaders are killed.")] = 10,
    seed: Seed = None,
) -> None:
    """Three processes run the same lots, and their leader is killed."""
    seed = chosen(seed)
    print(f"leaders: {broker}, {kills} kills, --seed {seed}", flush=True)
    end_with_folder(
        "leaders",
        lambda folder: run(Options(broker, kills, seed, folder)),
        kept="archives: {folder}",
    )


if __name__ == "__main__":
    command(leaders, "leaders")
