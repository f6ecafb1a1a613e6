"""``python -m interop.spark_stream``: exit code 1 when a promise is broken; the facts are kept
then."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from interop.command import Broker, Seed, chosen, command, end_with_folder
from interop.spark_stream.run import Options, run


def spark_stream(
    broker: Broker = "reference",
    messages: Annotated[int, typer.Option(min=1)] = 200_000,
    kills: Annotated[int, typer.Option(min=0, help="Of driver, workers and broker.")] = 20,
    seed: Seed = None,
    mode: Annotated[Literal["spool", "driver"], typer.Option()] = "spool",
    speculation: Annotated[
        bool, typer.Option("--speculation", help="On a standalone cluster, tasks run twice.")
    ] = False,
) -> None:
    """A queue flows into Parquet files while what is in between is killed."""
    seed = chosen(seed)
    twice = ", speculation" if speculation else ""
    print(f"spark_stream: {broker}, {mode}{twice}, {kills} kills, --seed {seed}", flush=True)
    end_with_folder(
        "spark_stream",
        lambda folder: run(Options(broker, messages, kills, seed, mode, speculation, folder)),
        kept="result, spool and logs: {folder}",
    )


if __name__ == "__main__":
    command(spark_stream, "spark_stream")
