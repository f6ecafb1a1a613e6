"""``mqkit outbox``: a relay, and what a person does with the rows that the broker refused."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import typer

from mqkit_cli.connection import UrlOption, endpoints_of
from mqkit_cli.errors import CommandError
from mqkit_cli.outbox.looking import ls
from mqkit_cli.outbox.place import DatabaseOption, engine_for
from mqkit_cli.outbox.repairing import purge, retry
from mqkit_cli.render import line, plural
from mqkit_cli.tracing import TraceOption

app = typer.Typer(
    help="The outbox: messages that are written in a database transaction, and published by a"
    " relay.",
    no_args_is_help=True,
)
for command in (ls, retry, purge):
    app.command()(command)


@app.command()
def run(
    after: Annotated[
        Literal["delete", "keep", "move"],
        typer.Option(help="What becomes of a row whose message is confirmed."),
    ] = "delete",
    once: Annotated[
        bool, typer.Option("--once", help="Publish what waits now, and end: for cron.")
    ] = False,
    poll_s: Annotated[
        float, typer.Option("--poll", metavar="SECONDS", min=0.01, help="How often to look.")
    ] = 1.0,
    database: DatabaseOption = None,
    url: UrlOption = None,
    trace: TraceOption = False,
) -> None:
    """Publish the rows of the outbox, in order by key, until SIGTERM.

    Start it as often as you like: on PostgreSQL the relays share the keys, on SQLite one works and
    the others wait. Exits with 0; with --once with 1 if a message was not confirmed.
    """
    engine = engine_for(database)
    endpoints_of(url)
    # Not what the other commands should wait for.
    from mqkit.app import App
    from mqkit.outbox.relay import Relay
    from mqkit.settings import Settings

    app = App(settings=Settings.load(urls=url))
    if trace:
        from mqkit.otel import instrument  # which needs an extra

        instrument(app)
    relay = Relay(app, engine, after=after, poll=poll_s)
    if not once:
        app.run(relay)
        line(f"{plural(relay.totals.sent, 'message')} published")
        return

    async def publish_once() -> None:
        async with app:
            await relay.once()

    asyncio.run(publish_once())
    totals = relay.totals
    line(f"{plural(totals.sent, 'message')} published")
    if totals.stopped or totals.unsettled:
        raise CommandError(
            f"{plural(totals.stopped, 'row')} stopped, {totals.unsettled} not confirmed yet"
            " (see: mqkit outbox ls)"
        )
