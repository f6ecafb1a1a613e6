"""``python -m interop.spark_sink``: exit code 1 when a promise is broken; marks and logs are kept
then."""

from __future__ import annotations

import secrets
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from interop.spark_cluster import ClusterFailed
from interop.spark_sink import batch_run, stream_run
from interop.spark_sink.driver import DriverFailed
from interop.spark_sink.options import Options
from interop.spark_sink.plan import Kind
from mqkit.testing.rabbitmq_node import NodeFailed


def spark_sink(
    broker: Annotated[Literal["reference", "rabbitmq"], typer.Option()] = "reference",
    kind: Annotated[Kind, typer.Option(help="The fault.")] = Kind.FAILING_TASK,
    rounds: Annotated[int, typer.Option(min=1)] = 20,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same plan.")] = None,
) -> None:
    """Publish from Spark under faults, and look whether every row has arrived."""
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    folder = Path(tempfile.mkdtemp(prefix="mqkit-spark-sink-"))
    print(f"spark sink: {broker}, {kind}, {rounds} rounds, --seed {chosen}", flush=True)
    began = time.monotonic()
    code = 1
    try:
        run = stream_run.run if kind is Kind.KILLED_DRIVER else batch_run.run
        code = run(Options(broker, kind, rounds, chosen, folder))
    except (ClusterFailed, DriverFailed, NodeFailed, RuntimeError) as why:
        print(f"interop.spark_sink: {why}", file=sys.stderr)
    finally:
        print(f"{time.monotonic() - began:.0f} s")
        if code:
            print(f"marks and logs: {folder}")
        else:
            shutil.rmtree(folder)
    raise SystemExit(code)


def main() -> None:
    # As after Ctrl-C, all that was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(spark_sink)
    app(prog_name="python -m interop.spark_sink")


if __name__ == "__main__":
    main()
