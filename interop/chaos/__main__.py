"""``python -m interop.chaos``: one app, one broker, one transport, and faults from a seed.

Exit code 1 when a law is broken; the facts are kept then, and the checker's folder is printed.
"""

from __future__ import annotations

import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from interop.chaos.app_process import AppFailed
from interop.chaos.plan import Kind
from interop.chaos.run import Options, run
from mqkit.testing.rabbitmq_node import NodeFailed

SECONDS = 1800.0
FAILURES = (AppFailed, NodeFailed, RuntimeError)


def chaos(
    broker: Annotated[Literal["reference", "rabbitmq"], typer.Option()] = "reference",
    transport: Annotated[Literal["native", "aio-pika"], typer.Option()] = "native",
    seconds: Annotated[float, typer.Option(help="How long the app runs.")] = SECONDS,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same faults.")] = None,
    only: Annotated[str, typer.Option(help="Kinds of faults, separated by commas.")] = "",
    keep: Annotated[bool, typer.Option(help="Keep the facts of a good run, too.")] = False,
) -> None:
    """Chaos for one app."""
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    kinds = tuple(Kind(name.strip()) for name in only.split(",")) if only else tuple(Kind)
    folder = Path(tempfile.mkdtemp(prefix="mqkit-chaos-facts-"))
    print(f"chaos: {broker}, {transport}, {seconds:g} s, --seed {chosen}", flush=True)
    code = 1
    try:
        code = run(Options(broker, transport, seconds, chosen, kinds, folder))
    except FAILURES as why:
        print(f"interop.chaos: {why}", file=sys.stderr)
    finally:
        if code or keep:
            print(f"facts: {folder}; judged again by: python -m interop.chaos.checker {folder}")
        else:
            shutil.rmtree(folder)
    raise SystemExit(code)


def main() -> None:
    # As after Ctrl-C, all that was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(chaos)
    app(prog_name="python -m interop.chaos")


if __name__ == "__main__":
    main()
