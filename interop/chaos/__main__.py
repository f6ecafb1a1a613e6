"""``python -m interop.chaos``: one app, one broker, one transport, and faults from a seed.

Exit code 1 when a law is broken; the facts are kept then, and the checker's folder is printed.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from interop.chaos.app_process import AppFailed
from interop.chaos.plan import Kind
from interop.chaos.run import Options, run
from interop.command import FAILURES, Broker, Seed, chosen, command, end_with_folder

SECONDS = 1800.0


def chaos(
    broker: Broker = "reference",
    transport: Annotated[Literal["native", "aio-pika"], typer.Option()] = "native",
    seconds: Annotated[float, typer.Option(help="How long the app runs.")] = SECONDS,
    seed: Seed = None,
    only: Annotated[str, typer.Option(help="Kinds of faults, separated by commas.")] = "",
    keep: Annotated[bool, typer.Option(help="Keep the facts of a good run, too.")] = False,
) -> None:
    """Chaos for one app."""
    seed = chosen(seed)
    kinds = tuple(Kind(name.strip()) for name in only.split(",")) if only else tuple(Kind)
    print(f"chaos: {broker}, {transport}, {seconds:g} s, --seed {seed}", flush=True)
    end_with_folder(
        "chaos",
        lambda folder: run(Options(broker, transport, seconds, seed, kinds, folder)),
        kept="facts: {folder}; judged again by: python -m interop.chaos.checker {folder}",
        keep=keep,
        failures=(AppFailed, *FAILURES),
    )


if __name__ == "__main__":
    command(chaos, "chaos")
