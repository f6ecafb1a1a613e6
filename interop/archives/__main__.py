"""``python -m interop.archives``: exit code 1 when a promise is broken; the files are kept then."""

from __future__ import annotations

from typing import Annotated

import typer

from interop.archives.run import Options, run
from interop.command import Broker, Seed, chosen, command, end_with_folder


def archives(
    broker: Broker = "reference",
    messages: Annotated[int, typer.Option(min=100, help="So many lie in the lot.")] = 100_000,
    kills: Annotated[
        int,
        typer.Option(
            min=0, help="So often each command is killed; 2,000 messages for each, or more."
        ),
    ] = 20,
    seed: Seed = None,
) -> None:
    """A large lot is archived, restored and replayed, and what does it is killed."""
    seed = chosen(seed)
    print(f"archives: {broker}, {messages} messages, {kills} kills, --seed {seed}", flush=True)
    end_with_folder(
        "archives",
        lambda folder: run(Options(broker, messages, kills, seed, folder)),
        kept="archives: {folder}",
    )


if __name__ == "__main__":
    command(archives, "archives")
