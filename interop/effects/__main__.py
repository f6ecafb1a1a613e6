"""``python -m interop.effects``: exit code 1 when a promise is broken."""

from __future__ import annotations

from typing import Annotated

import typer

from interop.command import FAILURES, Broker, Seed, chosen, command, end
from interop.effects.run import Options, run
from mqkit.testing import PostgreSQLUnavailable


def effects(
    orders: Annotated[int, typer.Option(min=1, help="So many orders are written.")] = 5_000,
    seconds: Annotated[float, typer.Option(help="For so long something is killed.")] = 60.0,
    broker: Broker = "reference",
    seed: Seed = None,
    without_inbox: Annotated[
        bool, typer.Option("--without-inbox", help="The control: duplicates are what it finds.")
    ] = False,
) -> None:
    """Orders through outbox, broker and inbox, while all of these are killed."""
    seed = chosen(seed)
    control = ", without inbox" if without_inbox else ""
    print(f"effects: {broker}, {orders} orders, {seconds:g} s{control}, --seed {seed}", flush=True)
    options = Options(orders, seconds, broker, seed, has_inbox=not without_inbox)
    end("effects", lambda: run(options), failures=(PostgreSQLUnavailable, *FAILURES))


if __name__ == "__main__":
    command(effects, "effects")
