"""The options of ``mqkit broker run``, and the configuration that they make.

An option that was not given leaves what the configuration file says, or the default.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mqkit_cli.errors import CommandError
from reference_broker.runtime.config import (
    DEFAULT_AMQP,
    DEFAULT_HTTP,
    Address,
    ServerConfig,
    parse_mechanisms,
    parse_size,
)
from reference_broker.runtime.tls.config import LoginFrom, TlsConfig, Verify

_TLS = "TLS"

Listen = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help=f"Where to accept AMQP. [default: {DEFAULT_AMQP}]"),
]
Http = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help=f"Where to serve the management API. [default: {DEFAULT_HTTP}]"
    ),
]
Prometheus = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Where to serve /metrics to everybody, without a login (RabbitMQ has it on port"
        " 15692). Without it, /metrics is on the management port for this machine only.",
    ),
]
DataDir = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Keep messages and definitions here, made if it is not there; without it they are"
        " kept in memory, and end with the process.",
    ),
]
DiskFreeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Block publishers while less than this is free on the data folder's disk: bytes,"
        " or with a unit, such as 50MB or 1GiB; 0 is no limit. [default: 50MB]",
    ),
]
MessageSizeMax = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Refuse messages with a larger body: bytes, or with a unit, such as 64MiB; at most"
        " 128MiB. [default: 16MiB]",
    ),
]
TlsListen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Where to accept AMQP over TLS (RabbitMQ has it on port 5671)."
    ),
]
Https = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Where to serve the management API over TLS (RabbitMQ has it on port 15671).",
    ),
]
TlsCert = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The server's certificate and its chain, in PEM form."),
]
TlsKey = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The certificate's private key, in PEM form.")
]
TlsCa = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The authorities that sign clients' certificates (PEM)."),
]
TlsVerify = Annotated[
    Verify | None,
    typer.Option(
        help="Whether an AMQP client's certificate is verified: none asks for none, peer verifies"
        " one that is shown, required refuses a client without one. [default: none]"
    ),
]
AuthMechanisms = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="How AMQP clients may log in, separated by commas. EXTERNAL takes the user from the"
        " client's certificate. [default: PLAIN,AMQPLAIN]",
    ),
]
CertLoginFrom = Annotated[
    LoginFrom | None,
    typer.Option(
        help="Which part of a certificate is the user for EXTERNAL. [default: distinguished_name]"
    ),
]


def with_addresses(
    settings: ServerConfig, listen: str | None, http: str | None, prometheus: str | None
) -> ServerConfig:
    """``settings`` with the addresses that options name. Raises :exc:`BadConfiguration`."""
    if listen is not None:
        settings = replace(settings, amqp=Address.parse(listen))
    if http is not None:
        settings = replace(settings, http=Address.parse(http))
    if prometheus is not None:
        settings = replace(settings, prometheus=Address.parse(prometheus))
    return settings


def with_limits(
    settings: ServerConfig, disk_free_limit: str | None, message_size_max: str | None
) -> ServerConfig:
    """``settings`` with the limits that options set. Raises :exc:`BadConfiguration`."""
    limits = settings.limits
    if disk_free_limit is not None:
        limits = replace(limits, disk_free_limit_bytes=parse_size(disk_free_limit))
    if message_size_max is not None:
        limits = replace(limits, message_size_max=parse_size(message_size_max))
    return replace(settings, limits=limits)


def with_tls(
    settings: ServerConfig,
    *,
    listen: str | None,
    https: str | None,
    certificate: Path | None,
    key: Path | None,
    authority: Path | None,
    verify: Verify | None,
    login_from: LoginFrom | None,
    mechanisms: str | None,
) -> ServerConfig:
    """``settings`` with the TLS that options set. Raises :exc:`BadConfiguration`, and
    :exc:`CommandError` for options that need others."""
    tls = settings.tls
    given = {
        "amqp": None if listen is None else Address.parse(listen),
        "https": None if https is None else Address.parse(https),
        "certificate": certificate,
        "key": key,
        "authority": authority,
        "verify": verify,
        "login_from": login_from,
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    if tls is None and wanted:
        if certificate is None or key is None:
            raise CommandError(
                "TLS needs a certificate and its key: --tls-cert FILE and --tls-key FILE"
            )
        tls = TlsConfig(certificate, key)
    if tls is not None:
        tls = replace(tls, **wanted)  # type: ignore[arg-type]  # each by the name of its field
        if tls.amqp is None and tls.https is None:
            raise CommandError("TLS on no address: add --tls-listen HOST:PORT or --https HOST:PORT")
    enabled = settings.mechanisms if mechanisms is None else parse_mechanisms(mechanisms.split(","))
    return replace(settings, tls=tls, mechanisms=enabled)


def folder(data_dir: str) -> Path:
    """An empty text would be the current folder: what a script means by it is a variable that is
    not set."""
    if not data_dir:
        raise CommandError("--data-dir is empty: name a folder, or leave the option out")
    return Path(data_dir)
