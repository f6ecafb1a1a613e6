"""``python -m bench``: ``throughput`` beside RabbitMQ, and what the store is measured by."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

import httpx
import typer

from bench.backlog import backlog
from bench.drain import drain_backlog
from bench.report import Discrepancy
from bench.stuck import stuck
from bench.throughput import throughput
from bench.worker import WorkerFailed
from mqkit.testing.rabbitmq_node import NodeFailed

DEFAULT = "throughput"
FAILURES = (
    Discrepancy,
    WorkerFailed,
    NodeFailed,
    ConnectionError,
    TimeoutError,
    RuntimeError,
    httpx.HTTPError,
)
"""What a broker or a machine can do to a run: said in a line, and no result is printed."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
app.command("throughput")(throughput)
app.command("backlog")(backlog)
app.command("drain")(drain_backlog)
app.command("stuck")(stuck)


def with_default(arguments: Sequence[str]) -> list[str]:
    """Options alone are those of ``throughput``."""
    if arguments and (arguments[0] == "--help" or not arguments[0].startswith("-")):
        return list(arguments)
    return [DEFAULT, *arguments]


def main() -> None:
    # As after Ctrl-C, all that was started is ended and all folders go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app(with_default(sys.argv[1:]), prog_name="python -m bench")
    except FAILURES as why:
        print(f"bench: {why}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
