"""``python -m interop.sync``: exit code 1 when a promise is broken."""

from __future__ import annotations

from typing import Annotated

import typer

from interop.command import Broker, command, end
from interop.sync.run import Options, run


def sync(
    seconds: Annotated[float, typer.Option(help="For so long requests are made.")] = 60.0,
    restarts: Annotated[int, typer.Option(min=0, help="The broker is killed so often.")] = 5,
    broker: Broker = "reference",
) -> None:
    """A site under gunicorn publishes in its requests, while its broker is killed."""
    print(f"sync: {broker}, {seconds:g} s, {restarts} restarts", flush=True)
    end("sync", lambda: run(Options(seconds, restarts, broker)))


if __name__ == "__main__":
    command(sync, "sync")
