"""``mqkit bench``: brokers and clients side by side, and what the store is measured by."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

import httpx
import typer

from mqkit.testing.rabbitmq_node import NodeFailed
from mqkit_bench.backlog import backlog
from mqkit_bench.broker.command import broker
from mqkit_bench.broker.footprint import footprint
from mqkit_bench.broker.growth import growth
from mqkit_bench.broker.latency import latency
from mqkit_bench.client.command import client
from mqkit_bench.drain import drain_backlog
from mqkit_bench.plot.command import plot
from mqkit_bench.report import Discrepancy
from mqkit_bench.spark.command import spark
from mqkit_bench.spark.memory import spark_memory
from mqkit_bench.stalls.command import stalls
from mqkit_bench.startup import startup
from mqkit_bench.stuck import stuck
from mqkit_bench.worker import WorkerFailed

FAILURES = (
    Discrepancy,
    WorkerFailed,
    NodeFailed,
    ConnectionError,
    TimeoutError,
    RuntimeError,
    httpx.HTTPError,
)
"""Errors that a broker or a machine can cause in a run: said in a line, and no result is
printed."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help=__doc__,
)
app.command("broker")(broker)
app.command("latency")(latency)
app.command("growth")(growth)
app.command("footprint")(footprint)
app.command("client")(client)
app.command("spark")(spark)
app.command("spark-memory")(spark_memory)
app.command("startup")(startup)
app.command("plot")(plot)
app.command("backlog")(backlog)
app.command("drain")(drain_backlog)
app.command("stuck")(stuck)
app.command("stalls")(stalls)


def run(arguments: Sequence[str]) -> None:
    """``mqkit bench`` with these arguments. Ends the process: 0, 1 when a broker or the machine
    failed (then without a result), 2 for a wish that can't be met."""
    # As after Ctrl-C, all that was started is ended and all folders go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app(list(arguments), prog_name="mqkit bench")
    except FAILURES as why:
        print(f"mqkit bench: {why}", file=sys.stderr)
        raise SystemExit(1) from None
