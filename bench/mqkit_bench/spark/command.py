"""``spark``: DataFrames into a queue and back, mqkit beside pika in ``foreachPartition`` and beside
raw sockets, on the reference broker and on RabbitMQ."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mqkit_bench.data_folder import data_folder, disk_kind
from mqkit_bench.report import JsonFile, say, write_json
from mqkit_bench.server import Server, rabbitmq_server, reference_server
from mqkit_bench.spark.contestant import CONTESTANTS, RABBITMQ, REFERENCE, SparkContestant
from mqkit_bench.spark.rounds import SparkStanding, compete
from mqkit_bench.spark.rows import PARTITIONS, Rows, prepare
from mqkit_bench.spark.session import spark_session
from mqkit_bench.spark.stage import QUEUE, Stage
from mqkit_bench.spark.table import table
from mqkit_bench.spark.writers import encode_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLIGHTS = Path("../shared/data/flights-3m.parquet")
ROW_BYTES = 1_500
"""On disk for each row, at most: the row, its frames, the broker's log of it twice, the spool."""


def chosen(names: Sequence[str]) -> list[SparkContestant]:
    """The contestants whose names begin so, all without a name. Raises ``typer.BadParameter`` for a
    name that fits none."""
    for name in names:
        if not any(each.name.startswith(name) for each in CONTESTANTS):
            known = "; ".join(each.name for each in CONTESTANTS)
            raise typer.BadParameter(f"there is no contestant {name!r}, but these: {known}")
    return [each for each in CONTESTANTS if not names or each.name.startswith(tuple(names))]


def brokers(names: Sequence[str]) -> list[str]:
    """Those that are named, both by default. Raises ``typer.BadParameter`` for another."""
    known = [REFERENCE, RABBITMQ]
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"there is no broker {name!r}, but these: {', '.join(known)}")
    return [each for each in known if not names or each in names]


def check_can_run(path: Path) -> None:
    """Raises ``typer.BadParameter`` when the rows, or Spark, are not there."""
    for package in ("pyspark", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise typer.BadParameter(f"{package} is not installed: pip install 'mqkit[spark]'")
    if not path.is_file():
        raise typer.BadParameter(f"{path} is not there: give another with --path")


@contextmanager
def broker_server(name: str) -> Iterator[Server]:
    """The reference broker with its data on a disk, or a private RabbitMQ."""
    if name == RABBITMQ:
        with rabbitmq_server() as server:
            yield server
    else:
        with data_folder() as folder, reference_server(folder) as ours:
            yield ours


def encoded(spark: SparkSession, rows: Rows, folder: Path) -> list[Path]:
    """The rows' frames, a file for each partition."""
    bodies = folder / "bodies"
    rows.frame(spark, rows.count).write.parquet(str(bodies))
    return encode_all(sorted(bodies.glob("part-*.parquet")), QUEUE, folder)


def spark(
    rows: int = typer.Option(3_000_000, min=1, help="Rows for mqkit and for raw sockets."),
    path: Path = typer.Option(
        FLIGHTS, metavar="PARQUET", help="The rows: any table; its columns become JSON."
    ),
    rounds: int = typer.Option(3, min=1, help="Rounds that count, after a warm-up."),
    seconds: float = typer.Option(
        60.0, min=0.1, help="A slower contestant gets as many rows as it moves in this time."
    ),
    broker: list[str] = typer.Option([], help="reference or rabbitmq; both by default."),
    contestant: list[str] = typer.Option([], help="Only those whose names begin so; repeatable."),
    json_file: JsonFile = None,
) -> None:
    """DataFrames into a queue and back: mqkit, foreachPartition with pika, raw sockets."""
    contestants, names = chosen(contestant), brokers(broker)
    check_can_run(path)
    kind = disk_kind()
    standings: list[SparkStanding] = []
    with data_folder(ROW_BYTES * rows) as folder, spark_session(folder) as session:
        table_rows = prepare(path, folder / "rows", rows)
        frames = encoded(session, table_rows, folder)
        for name in names:
            with broker_server(name) as server:
                stage = Stage(server.contestant, session, table_rows, frames, folder)
                standings += compete(stage, name, contestants, rounds, seconds, say)
                write_json(json_file, standings)
    versions = ", ".join(f"{each} {metadata.version(each)}" for each in ("pyspark", "pika"))
    print(
        f"{table_rows.count:,} rows of {path.name} as JSON for mqkit and raw sockets, as many as"
        f" fill {seconds:g} s for the others; local[2], {PARTITIONS} connections each, persistent;"
        f" {rounds} alternating rounds, medians; {os.cpu_count()} cores, data on {kind};"
        f" {versions}; all counted in the queue.\n"
    )
    print(table(standings))
