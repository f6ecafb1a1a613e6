"""``spark-memory``: the memory of a worker that has all rows in one partition, both ways.

Each direction is run with a tenth of the rows and then with all of them, in a Spark session of its
own: what a worker keeps per row would show in the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from mqkit_bench.data_folder import data_folder, disk_kind
from mqkit_bench.report import JsonFile, markdown, say, write_json
from mqkit_bench.spark import sinks, sources
from mqkit_bench.spark.command import (
    FLIGHTS,
    ROW_BYTES,
    broker_server,
    check_can_run,
    encoded,
)
from mqkit_bench.spark.contestant import REFERENCE
from mqkit_bench.spark.processes import peak_worker_mib
from mqkit_bench.spark.rows import prepare
from mqkit_bench.spark.session import spark_session
from mqkit_bench.spark.stage import Direction, Stage

PLAYS = {Direction.SINK: sinks.mqkit, Direction.SOURCE: sources.mqkit_spool}
HEADER = ("direction", "rows in one partition", "peak RSS of a worker", "seconds")


@dataclass(frozen=True, slots=True)
class Peak:
    """The most memory that a Python worker of the session has had by the end of the run."""

    direction: Direction
    rows: int
    peak_rss_mib: float
    seconds: float


def spark_memory(
    rows: int = typer.Option(3_000_000, min=10, help="Rows of the larger run of each direction."),
    path: Path = typer.Option(
        FLIGHTS, metavar="PARQUET", help="The rows: any table; its columns become JSON."
    ),
    json_file: JsonFile = None,
) -> None:
    """The memory of a worker with all rows in one partition, to the broker and from it."""
    check_can_run(path)
    kind = disk_kind()
    peaks: list[Peak] = []
    with data_folder(ROW_BYTES * rows) as folder, broker_server(REFERENCE) as server:
        laid_out = prepare(path, folder / "rows", rows)
        with spark_session(folder) as session:
            frames = encoded(session, laid_out, folder)
        for direction in PLAYS:
            # A session's workers are its own: no other direction's memory is in their peak.
            with spark_session(folder) as session:
                stage = Stage(server.contestant, session, laid_out, frames, folder, partitions=1)
                for count in (laid_out.count // 10, laid_out.count):
                    peaks.append(_run(stage, direction, count))
                    write_json(json_file, peaks)
    print(f"{path.name} as JSON, reference broker, data on {kind}; the larger run comes second.\n")
    print(markdown(HEADER, [_row(peak) for peak in peaks]))


def _run(stage: Stage, direction: Direction, rows: int) -> Peak:
    with stage.set(direction, rows):
        seconds, _ = PLAYS[direction](stage, rows)
        peak = Peak(direction, rows, peak_worker_mib(), seconds)
    say(f"{direction}: {rows:,} rows in {seconds:.1f} s: {peak.peak_rss_mib:.0f} MiB")
    return peak


def _row(peak: Peak) -> tuple[str, ...]:
    return (
        peak.direction,
        f"{peak.rows:,}",
        f"{peak.peak_rss_mib:.0f} MiB",
        f"{peak.seconds:.1f}",
    )
