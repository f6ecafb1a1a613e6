"""``python -m interop.drift``: changes by hand under one app, on one broker.

Exit code 1 when a change is not told in time, or something is told that nobody changed.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from interop.command import FAILURES, Broker, Seed, chosen, command, end
from interop.drift.app_process import AppFailed
from interop.drift.changes import CHANGES
from interop.drift.run import Options, kinds, run


def drift(
    broker: Broker = "reference",
    look: Annotated[Literal["amqp", "management"], typer.Option()] = "management",
    transport: Annotated[Literal["native", "aio-pika"], typer.Option()] = "native",
    seconds: Annotated[float, typer.Option(help="How long changes are made.")] = 600.0,
    quiet: Annotated[float, typer.Option(help="How long nothing is changed after that.")] = 600.0,
    every: Annotated[float, typer.Option(help="The app's drift_every, in seconds.")] = 1.0,
    seed: Seed = None,
    policies: Annotated[bool, typer.Option(help="Change policies, too.")] = False,
    only: Annotated[str, typer.Option(help="Only kinds with this in their title.")] = "",
    show: Annotated[bool, typer.Option(help="List the kinds of changes, and end.")] = False,
) -> None:
    """Drift, by hand."""
    if show:
        _show()
        return
    options = Options(broker, look, transport, seconds, quiet, every, chosen(seed), policies, only)
    print(
        f"drift: {broker}, {look}, {transport}, {len(kinds(options))} kinds of changes for"
        f" {seconds:g} s, then quiet for {quiet:g} s, --seed {options.seed}",
        flush=True,
    )

    def run_and_say() -> int:
        code = run(options)
        print("drift: ok" if code == 0 else "drift: FAILED")
        return code

    end("drift", run_and_say, failures=(AppFailed, *FAILURES))


def _show() -> None:
    for change in CHANGES:
        for look in ("amqp", "management"):
            told = "; ".join(" ".join(what).strip() for what in change.expected(look))
            print(f"{change.title:55} {look:10}  {told or '-'}")


if __name__ == "__main__":
    command(drift, "drift")
