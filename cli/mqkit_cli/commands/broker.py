"""``mqkit broker``: the reference broker, and the definitions of this or any other one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mqkit_cli.broker_config import load_config
from mqkit_cli.broker_service import serve
from mqkit_cli.commands.definitions import export_definitions, import_definitions
from mqkit_cli.errors import CommandError
from reference_broker.runtime.config import (
    DEFAULT_AMQP,
    DEFAULT_HTTP,
    Address,
    ServerConfig,
    parse_size,
)

app = typer.Typer(
    help="The reference broker: AMQP 0-9-1 and RabbitMQ's management paths, in one process.",
    short_help="The reference broker.",
    no_args_is_help=True,
)


_Prometheus = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Where to serve /metrics to everybody, without a login (RabbitMQ has it on port"
        " 15692). Without it, /metrics is on the management port for this machine only.",
    ),
]
_DiskFreeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Block publishers while less than this is free on the data folder's disk: bytes,"
        " or with a unit, such as 50MB or 1GiB; 0 is no limit. [default: 50MB]",
    ),
]


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
    prometheus: _Prometheus = None,
    data_dir: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keep messages and definitions here, made if it is not there; without it they are"
            " kept in memory, and end with the process.",
        ),
    ] = None,
    disk_free_limit: _DiskFreeLimit = None,
    message_size_max: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Refuse messages with a larger body: bytes, or with a unit, such as 64MiB; at most"
            " 128MiB. [default: 16MiB]",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A YAML file with listen, http, prometheus, data_dir, users and limits;"
            " options win over it.",
        ),
    ] = None,
) -> None:
    """Run the reference broker until SIGTERM or Ctrl-C.

    Prints one line when it accepts connections: "ready amqp=127.0.0.1:5672 http=127.0.0.1:15672".
    Port 0 takes a free one. The default user is guest, password guest, from this machine only.
    """
    settings = ServerConfig() if config is None else load_config(config)
    if listen is not None:
        settings = replace(settings, amqp=Address.parse(listen))
    if http is not None:
        settings = replace(settings, http=Address.parse(http))
    if prometheus is not None:
        settings = replace(settings, prometheus=Address.parse(prometheus))
    if data_dir is not None:
        settings = replace(settings, data_dir=_folder(data_dir))
    settings = _limited(settings, disk_free_limit, message_size_max)
    if settings.data_dir is None:
        typer.echo("mqkit: no --data-dir: messages are kept in memory only", err=True)
    serve(settings)


app.command("export-definitions")(export_definitions)
app.command("import-definitions")(import_definitions)


def _limited(
    settings: ServerConfig, disk_free_limit: str | None, message_size_max: str | None
) -> ServerConfig:
    """With the limits that options set."""
    limits = settings.limits
    if disk_free_limit is not None:
        limits = replace(limits, disk_free_limit_bytes=parse_size(disk_free_limit))
    if message_size_max is not None:
        limits = replace(limits, message_size_max=parse_size(message_size_max))
    return replace(settings, limits=limits)


def _folder(data_dir: str) -> Path:
    """An empty text would be the current folder: what a script means by it is a variable that is
    not set."""
    if not data_dir:
        raise CommandError("--data-dir is empty: name a folder, or leave the option out")
    return Path(data_dir)
