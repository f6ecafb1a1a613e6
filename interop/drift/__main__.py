"""``python -m interop.drift``: changes by hand under one app, on one broker.

Exit code 1 when a change is not told in time, or something is told that nobody changed.
"""

from __future__ import annotations

import secrets
import signal
import sys
from typing import Annotated, Literal

import typer

from interop.drift.app_process import AppFailed
from interop.drift.changes import CHANGES
from interop.drift.run import Options, kinds, run
from mqkit.testing.rabbitmq_node import NodeFailed

FAILURES = (AppFailed, NodeFailed, RuntimeError)


def drift(
    broker: Annotated[Literal["reference", "rabbitmq"], typer.Option()] = "reference",
    look: Annotated[Literal["amqp", "management"], typer.Option()] = "management",
    transport: Annotated[Literal["native", "aio-pika"], typer.Option()] = "native",
    seconds: Annotated[float, typer.Option(help="How long changes are made.")] = 600.0,
    quiet: Annotated[float, typer.Option(help="How long nothing is changed after that.")] = 600.0,
    every: Annotated[float, typer.Option(help="The app's drift_every, in seconds.")] = 1.0,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same order.")] = None,
    policies: Annotated[bool, typer.Option(help="Change policies, too.")] = False,
    only: Annotated[str, typer.Option(help="Only kinds with this in their title.")] = "",
    show: Annotated[bool, typer.Option(help="List the kinds of changes, and end.")] = False,
) -> None:
    """Drift, by hand."""
    if show:
        _show()
        return
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    options = Options(broker, look, transport, seconds, quiet, every, chosen, policies, only)
    print(
        f"drift: {broker}, {look}, {transport}, {len(kinds(options))} kinds of changes for"
        f" {seconds:g} s, then quiet for {quiet:g} s, --seed {chosen}",
        flush=True,
    )
    try:
        code = run(options)
    except FAILURES as why:
        print(f"interop.drift: {why}", file=sys.stderr)
        code = 1
    print("drift: ok" if code == 0 else "drift: FAILED")
    raise SystemExit(code)


def _show() -> None:
    for change in CHANGES:
        for look in ("amqp", "management"):
            told = "; ".join(" ".join(what).strip() for what in change.expected(look))
            print(f"{change.title:55} {look:10}  {told or '-'}")


def main() -> None:
    # As after Ctrl-C, all that was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(drift)
    app(prog_name="python -m interop.drift")


if __name__ == "__main__":
    main()
