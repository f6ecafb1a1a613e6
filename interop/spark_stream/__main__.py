"""``python -m interop.spark_stream``: exit code 1 when a promise is broken; the facts are kept
then."""

from __future__ import annotations

import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from interop.spark_stream.run import Options, run
from mqkit.testing.rabbitmq_node import NodeFailed


def spark_stream(
    broker: Annotated[Literal["reference", "rabbitmq"], typer.Option()] = "reference",
    messages: Annotated[int, typer.Option(min=1)] = 200_000,
    kills: Annotated[int, typer.Option(min=0, help="Of driver, workers and broker.")] = 20,
    seed: Annotated[int | None, typer.Option(help="The moments and targets of the kills.")] = None,
    mode: Annotated[Literal["spool", "driver"], typer.Option()] = "spool",
    speculation: Annotated[
        bool, typer.Option("--speculation", help="On a standalone cluster, tasks run twice.")
    ] = False,
) -> None:
    """A queue flows into Parquet files while what is in between is killed."""
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    folder = Path(tempfile.mkdtemp(prefix="mqkit-spark-stream-"))
    print(
        f"spark_stream: {broker}, {mode}{', speculation' if speculation else ''}, {kills} kills,"
        f" --seed {chosen}",
        flush=True,
    )
    code = 1
    try:
        code = run(Options(broker, messages, kills, chosen, mode, speculation, folder))
    except (NodeFailed, RuntimeError) as why:
        print(f"interop.spark_stream: {why}", file=sys.stderr)
    finally:
        if code:
            print(f"result, spool and logs: {folder}")
        else:
            shutil.rmtree(folder)
    raise SystemExit(code)


def main() -> None:
    # As after Ctrl-C, all that was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(spark_stream)
    app(prog_name="python -m interop.spark_stream")


if __name__ == "__main__":
    main()
