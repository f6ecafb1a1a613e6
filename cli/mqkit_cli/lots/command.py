"""``mqkit lots run``: what a file says under ``lots:``, carried out, by one of several processes at
a time."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from mqkit.topology.model import Topology
from mqkit.transport.seam import Endpoint
from mqkit_cli.connection import JsonOption, UrlOption, endpoints_of
from mqkit_cli.errors import CommandError
from mqkit_cli.lots.view import EventView
from mqkit_cli.topology.files import FILES, FilesOption, load_topology
from mqkit_cli.tracing import TraceOption

if TYPE_CHECKING:
    from mqkit.lots import Lots

TOLD_BY_THE_VIEW = ("mqkit.lots.alerts.telling", "mqkit.lots.clock.tending")
"""Loggers whose warnings are events as well, and have their line."""

app = typer.Typer(
    help="Parking lots by the clock: what a topology file says under lots:.", no_args_is_help=True
)


@app.command()
def run(
    files: FilesOption = FILES,
    once: Annotated[
        bool, typer.Option("--once", help="One pass over the lots, and end: for cron.")
    ] = False,
    url: UrlOption = None,
    trace: TraceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Send messages back, archive them, and give alerts, when the file says so; until SIGTERM.

    Start it as often as you like: each lot is run by one process, and the others wait. Alerts are
    POSTed to MQKIT_ALERT_WEBHOOK. Exits with 0; with --once with 1 if something failed.
    """
    # Not what the other commands should wait for: pydantic, and the lots themselves.
    from mqkit.lots import Lots
    from mqkit.settings import Settings

    topology = load_topology(files)
    endpoints_of(url)
    settings = Settings.load(urls=url)
    view = EventView(as_json=as_json)
    lots = Lots(
        topology,
        settings=settings,
        endpoints=_in_vhost(topology, settings.endpoints),
        on_event=view.show,
    )
    lots.on_alert(view.alert)
    if trace:
        from mqkit.otel import instrument  # which needs an extra

        instrument(lots)
    with _told_once():
        asyncio.run(_run(lots, once=once))
    view.end(lots.totals)
    if once and view.failed:
        raise CommandError(f"{view.failed} of the lots' steps failed; see above")


@contextmanager
def _told_once() -> Iterator[None]:
    """Loggers keep quiet of what has its line already, for the time of the block."""
    loggers = [logging.getLogger(name) for name in TOLD_BY_THE_VIEW]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


async def _run(lots: Lots, *, once: bool) -> None:
    running = asyncio.create_task(lots.once() if once else lots())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        if not running.cancelled():
            raise


def _in_vhost(topology: Topology, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    """A URL without a vhost leads to that of the file."""
    if topology.vhost is None:
        return endpoints
    return tuple(
        replace(endpoint, vhost=topology.vhost) if endpoint.vhost == "/" else endpoint
        for endpoint in endpoints
    )
