"""``python -m interop.spark_sink``: exit code 1 when a promise is broken; marks and logs are kept
then."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from interop.command import FAILURES, Broker, Seed, chosen, command, end_with_folder
from interop.spark_cluster import ClusterFailed
from interop.spark_sink import batch_run, stream_run
from interop.spark_sink.driver import DriverFailed
from interop.spark_sink.options import Options
from interop.spark_sink.plan import Kind


def spark_sink(
    broker: Broker = "reference",
    kind: Annotated[Kind, typer.Option(help="The fault.")] = Kind.FAILING_TASK,
    rounds: Annotated[int, typer.Option(min=1)] = 20,
    seed: Seed = None,
) -> None:
    """Publish from Spark under faults, and look whether every row has arrived."""
    seed = chosen(seed)
    print(f"spark sink: {broker}, {kind}, {rounds} rounds, --seed {seed}", flush=True)

    def run(folder: Path) -> int:
        began = time.monotonic()
        play = stream_run.run if kind is Kind.KILLED_DRIVER else batch_run.run
        code = play(Options(broker, kind, rounds, seed, folder))
        print(f"{time.monotonic() - began:.0f} s")
        return code

    end_with_folder(
        "spark_sink",
        run,
        kept="marks and logs: {folder}",
        failures=(ClusterFailed, DriverFailed, *FAILURES),
    )


if __name__ == "__main__":
    command(spark_sink, "spark_sink")
