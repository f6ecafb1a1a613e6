"""The app of a run: ``python -m interop.drift.application``. It prints a line of JSON for each
drift that it is told, and ends when its stdin does."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

import mqkit
from interop.drift.layout import CONSUMED, TOPOLOGY
from mqkit.timing.seconds import duration

READY_WITHIN_S = 60.0


def make_app(
    url: str, management_url: str | None, transport: str, every_s: float, folder: Path
) -> mqkit.App:
    """The app, which has a consumer for one queue."""
    path = folder / "topology.yaml"
    path.write_text(TOPOLOGY)
    settings = mqkit.Settings.load(
        urls=url,
        transport=transport,
        connection_name="drift",
        drift_every_s=every_s,
        management_url=management_url,
    )
    app = mqkit.App(settings=settings, topology=path, drain_timeout=duration("5s"))

    @app.on_drift
    async def tell(drift: mqkit.Drift) -> None:
        print(json.dumps(drift.to_dict()), flush=True)

    @app.consumer(CONSUMED)
    async def handle(body: bytes) -> None:
        return

    return app


async def run(app: mqkit.App) -> None:
    """Run until stdin ends."""
    async with app:
        await app.wait_ready(READY_WITHIN_S)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    stats = app.stats
    print(f"looks {stats.drift_looks}, drifts {stats.drifts}", file=sys.stderr)


def main(
    url: Annotated[str, typer.Option()],
    folder: Annotated[Path, typer.Option()],
    management_url: Annotated[str | None, typer.Option()] = None,
    transport: Annotated[str, typer.Option()] = "native",
    every: Annotated[float, typer.Option()] = 1.0,
) -> None:
    """One app."""
    asyncio.run(run(make_app(url, management_url, transport, every, folder)))


if __name__ == "__main__":
    typer.run(main)
