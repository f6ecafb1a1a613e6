"""``mqkit broker run``: the reference broker, as a process.

It lives for months, so it is not loaded with what the other commands need: :mod:`mqkit_cli.app` has
the whole tree, :func:`app_of_its_own` the branch that leads here, with the same words around it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mqkit_cli.broker import options as options
from mqkit_cli.broker.service import serve
from reference_broker.runtime.config import ServerConfig


def run(
    listen: options.Listen = None,
    http: options.Http = None,
    prometheus: options.Prometheus = None,
    data_dir: options.DataDir = None,
    disk_free_limit: options.DiskFreeLimit = None,
    message_size_max: options.MessageSizeMax = None,
    tls_listen: options.TlsListen = None,
    https: options.Https = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_ca: options.TlsCa = None,
    tls_verify: options.TlsVerify = None,
    auth_mechanisms: options.AuthMechanisms = None,
    cert_login_from: options.CertLoginFrom = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A YAML file with listen, http, prometheus, data_dir, users, limits, tls and"
            " auth_mechanisms; options win over it.",
        ),
    ] = None,
) -> None:
    """Run the reference broker until SIGTERM or Ctrl-C.

    Prints one line when it accepts connections: "ready amqp=localhost:5672 http=127.0.0.1:15672".
    Port 0 takes a free one. The default user is guest, password guest, from this machine only.
    """
    settings = ServerConfig() if config is None else _loaded(config)
    settings = options.with_addresses(settings, listen, http, prometheus)
    settings = options.with_limits(settings, disk_free_limit, message_size_max)
    settings = options.with_tls(
        settings,
        listen=tls_listen,
        https=https,
        certificate=tls_cert,
        key=tls_key,
        authority=tls_ca,
        verify=tls_verify,
        login_from=cert_login_from,
        mechanisms=auth_mechanisms,
    )
    if data_dir is not None:
        settings = replace(settings, data_dir=options.folder(data_dir))
    if settings.data_dir is None:
        typer.echo("mqkit: no --data-dir: messages are kept in memory only", err=True)
    serve(settings)


def _loaded(file: Path) -> ServerConfig:
    from mqkit_cli.broker.config import load_config  # YAML, which most brokers run without

    return load_config(file)


def app_of_its_own() -> typer.Typer:
    """``mqkit``, as far as ``broker run`` goes."""
    branch = typer.Typer()
    branch.command()(run)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.add_typer(branch, name="broker")
    return app
