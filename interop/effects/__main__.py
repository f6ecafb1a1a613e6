"""``python -m interop.effects``: exit code 1 when a promise is broken."""

from __future__ import annotations

import secrets
import signal
import sys
from typing import Annotated, Literal

import typer

from interop.effects.run import Options, run
from mqkit.testing import PostgreSQLUnavailable
from mqkit.testing.rabbitmq_node import NodeFailed


def effects(
    orders: Annotated[int, typer.Option(min=1, help="So many orders are written.")] = 5_000,
    seconds: Annotated[float, typer.Option(help="For so long something is killed.")] = 60.0,
    broker: Annotated[Literal["reference", "rabbitmq"], typer.Option()] = "reference",
    seed: Annotated[int | None, typer.Option(help="The kills and their moments.")] = None,
    without_inbox: Annotated[
        bool, typer.Option("--without-inbox", help="The control: duplicates are what it finds.")
    ] = False,
) -> None:
    """Orders through outbox, broker and inbox, while all of these are killed."""
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    control = ", without inbox" if without_inbox else ""
    print(
        f"effects: {broker}, {orders} orders, {seconds:g} s{control}, --seed {chosen}", flush=True
    )
    try:
        code = run(Options(orders, seconds, broker, chosen, has_inbox=not without_inbox))
    except (NodeFailed, PostgreSQLUnavailable, RuntimeError) as why:
        print(f"interop.effects: {why}", file=sys.stderr)
        code = 1
    raise SystemExit(code)


def main() -> None:
    # As after Ctrl-C, all that was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(effects)
    app(prog_name="python -m interop.effects")


if __name__ == "__main__":
    main()
