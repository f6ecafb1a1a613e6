"""``mqkit broker run``: the reference broker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mqkit_cli.broker_config import load_config
from mqkit_cli.broker_service import serve
from mqkit_cli.errors import CommandError
from reference_broker.runtime.config import DEFAULT_AMQP, DEFAULT_HTTP, Address, ServerConfig

app = typer.Typer(
    help="The reference broker: AMQP 0-9-1 and RabbitMQ's management paths, in one process.",
    short_help="The reference broker.",
    no_args_is_help=True,
)


@app.callback()
def _group() -> None:
    """Keeps ``run`` a command of its own while it is the only one."""


@app.command()
def run(
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help=f"Where to accept AMQP. [default: {DEFAULT_AMQP}]"),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help=f"Where to serve the management API. [default: {DEFAULT_HTTP}]",
        ),
    ] = None,
    data_dir: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keep messages and definitions here, made if it is not there; without it they are"
            " kept in memory, and end with the process.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A YAML file with listen, http, data_dir, users and limits; options win over it.",
        ),
    ] = None,
) -> None:
    """Run the reference broker until SIGTERM or Ctrl-C.

    Prints one line on stdout when it accepts connections:
    "ready amqp=127.0.0.1:5672 http=127.0.0.1:15672". Port 0 takes a free port. The default user is
    guest with password guest, from this machine only.
    """
    settings = ServerConfig() if config is None else load_config(config)
    if listen is not None:
        settings = replace(settings, amqp=Address.parse(listen))
    if http is not None:
        settings = replace(settings, http=Address.parse(http))
    if data_dir is not None:
        settings = replace(settings, data_dir=_folder(data_dir))
    if settings.data_dir is None:
        typer.echo("mqkit: no --data-dir: messages are kept in memory only", err=True)
    serve(settings)


def _folder(data_dir: str) -> Path:
    """An empty text would be the current folder: what a script means by it is a variable that is
    not set."""
    if not data_dir:
        raise CommandError("--data-dir is empty: name a folder, or leave the option out")
    return Path(data_dir)
