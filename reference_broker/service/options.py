"""The options of a broker's command line, and the configuration that they make.

:class:`BrokerOptions` is the one table of them: typer's and argparse's command lines are both built
from :data:`TABLE`. An option that was not given leaves what the configuration file says, or the
default.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import (
    DEFAULT_AMQP,
    DEFAULT_HTTP,
    Address,
    ServerConfig,
    parse_mechanisms,
    parse_size,
)
from reference_broker.runtime.net.proxy_sources import ProxyProtocol, ProxySources
from reference_broker.runtime.tls.config import LoginFrom, TlsConfig, Verify
from reference_broker.service.cluster_options import check_node_name, cluster_of

DESCRIPTION = """Run the reference broker until SIGTERM or Ctrl-C.

Prints one line when it accepts connections: "ready amqp=localhost:5672 http=127.0.0.1:15672". Port
0 takes a free one. The default user is guest, password guest, from this machine only."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An option in the help. Without a ``metavar`` its value is one of an enumeration."""

    metavar: str | None
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOptions:
    """The options of one start; ``None`` was not given. Nothing is checked yet but the words of an
    enumeration."""

    listen: Annotated[
        str | None, Shown("HOST:PORT", f"Where to accept AMQP. [default: {DEFAULT_AMQP}]")
    ] = None
    http: Annotated[
        str | None,
        Shown("HOST:PORT", f"Where to serve the management API. [default: {DEFAULT_HTTP}]"),
    ] = None
    prometheus: Annotated[
        str | None,
        Shown(
            "HOST:PORT",
            "Where to serve /metrics to everybody, without a login (RabbitMQ has it on port 15692)."
            " Without it, /metrics is on the management port for this machine only.",
        ),
    ] = None
    data_dir: Annotated[
        str | None,
        Shown(
            "DIR",
            "Keep messages and definitions here, made if it is not there; without it they are kept"
            " in memory, and end with the process.",
        ),
    ] = None
    disk_free_limit: Annotated[
        str | None,
        Shown(
            "SIZE",
            "Block publishers while less than this is free on the data folder's disk: bytes, or"
            " with a unit, such as 50MB or 1GiB; 0 is no limit. [default: 50MB]",
        ),
    ] = None
    message_size_max: Annotated[
        str | None,
        Shown(
            "SIZE",
            "Refuse messages with a larger body: bytes, or with a unit, such as 64MiB; at most"
            " 128MiB. [default: 16MiB]",
        ),
    ] = None
    tls_listen: Annotated[
        str | None,
        Shown("HOST:PORT", "Where to accept AMQP over TLS (RabbitMQ has it on port 5671)."),
    ] = None
    https: Annotated[
        str | None,
        Shown(
            "HOST:PORT",
            "Where to serve the management API over TLS (RabbitMQ has it on port 15671).",
        ),
    ] = None
    tls_cert: Annotated[
        Path | None, Shown("FILE", "The server's certificate and its chain, in PEM form.")
    ] = None
    tls_key: Annotated[
        Path | None, Shown("FILE", "The certificate's private key, in PEM form.")
    ] = None
    tls_ca: Annotated[
        Path | None, Shown("FILE", "The authorities that sign clients' certificates (PEM).")
    ] = None
    tls_verify: Annotated[
        Verify | None,
        Shown(
            None,
            "Whether an AMQP client's certificate is verified: none asks for none, peer verifies"
            " one that is shown, required refuses a client without one. [default: none]",
        ),
    ] = None
    auth_mechanisms: Annotated[
        str | None,
        Shown(
            "NAMES",
            "How AMQP clients may log in, separated by commas. EXTERNAL takes the user from the"
            " client's certificate. [default: PLAIN,AMQPLAIN]",
        ),
    ] = None
    cert_login_from: Annotated[
        LoginFrom | None,
        Shown(
            None,
            "Which part of a certificate is the user for EXTERNAL. [default: distinguished_name]",
        ),
    ] = None
    proxy_protocol: Annotated[
        ProxyProtocol | None,
        Shown(
            None,
            "Read a PROXY header of this version before AMQP, and before TLS, from the proxies of"
            " --proxy-from.",
        ),
    ] = None
    proxy_from: Annotated[
        str | None,
        Shown(
            "CIDR,...",
            "The networks that proxies connect from: who comes from there has to send a PROXY"
            " header, and nobody else may. [default: none]",
        ),
    ] = None
    node_name: Annotated[
        str | None,
        Shown(
            "NAME",
            "The broker's name; clients and the management API see mqkit@NAME. In a cluster no two"
            " nodes have one. [default: the machine's]",
        ),
    ] = None
    cluster_name: Annotated[
        str | None,
        Shown(
            "NAME",
            "Be a node of this cluster: exchanges, queues, users and policies are agreed on with"
            " its other nodes. The first node founds it. Needs --data-dir, --etcd, --cluster-listen"
            " and --cluster-secret-file.",
        ),
    ] = None
    etcd: Annotated[
        str | None,
        Shown("URL,...", "The members of the cluster's etcd, such as http://127.0.0.1:2379."),
    ] = None
    etcd_user: Annotated[str | None, Shown("NAME", "The user to log in to etcd as.")] = None
    etcd_password_file: Annotated[
        Path | None, Shown("FILE", "The file with that user's password.")
    ] = None
    etcd_ca: Annotated[
        Path | None,
        Shown("FILE", "The authorities that sign etcd's certificates (PEM; default: the system's)"),
    ] = None
    etcd_cert: Annotated[
        Path | None, Shown("FILE", "The certificate to show to etcd, in PEM form.")
    ] = None
    etcd_key: Annotated[Path | None, Shown("FILE", "That certificate's private key.")] = None
    cluster_listen: Annotated[
        str | None, Shown("HOST:PORT", "Where to accept the links of other nodes.")
    ] = None
    cluster_advertise: Annotated[
        str | None,
        Shown(
            "HOST:PORT",
            "Where other nodes connect to, if that is another address. [default: --cluster-listen]",
        ),
    ] = None
    cluster_secret_file: Annotated[
        Path | None,
        Shown("FILE", "A file with the secret of the cluster, the same on every node."),
    ] = None
    cluster_tls_cert: Annotated[
        Path | None,
        Shown(
            "FILE",
            "The certificate of this node's links, in PEM form: for the host of"
            " --cluster-advertise.",
        ),
    ] = None
    cluster_tls_key: Annotated[
        Path | None, Shown("FILE", "That certificate's private key, in PEM form.")
    ] = None
    cluster_tls_ca: Annotated[
        Path | None, Shown("FILE", "The authorities that sign the nodes' certificates (PEM).")
    ] = None
    config: Annotated[
        Path | None,
        Shown(
            "FILE",
            "A YAML file with listen, http, prometheus, data_dir, users, limits, tls,"
            " auth_mechanisms, proxy_protocol, proxy_from, node_name and cluster; options win over"
            " it.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Option:
    """One option, as a command line shows it. ``kind`` makes its value of the text."""

    name: str
    kind: type[str] | type[Path] | type[StrEnum]
    metavar: str | None
    help: str

    @property
    def flag(self) -> str:
        """``--tls-cert``, for ``tls_cert``."""
        return "--" + self.name.replace("_", "-")

    @property
    def choices(self) -> list[str] | None:
        """The words that are known; ``None`` if any text may be given."""
        return [str(word) for word in self.kind] if issubclass(self.kind, StrEnum) else None


def _table() -> tuple[Option, ...]:
    table = []
    for name, hint in get_type_hints(BrokerOptions, include_extras=True).items():
        value, shown = get_args(hint)  # of Annotated; the value's are the type and None
        table.append(Option(name, get_args(value)[0], shown.metavar, shown.help))
    return tuple(table)


TABLE = _table()
"""Every option, in the order of the help."""


def configuration(options: BrokerOptions) -> ServerConfig:
    """The configuration that options and their file make.

    Raises :exc:`BadConfiguration`, which names the option, or file and line.
    """
    settings = ServerConfig() if options.config is None else _loaded(options.config)
    settings = _with_addresses(settings, options)
    settings = _with_limits(settings, options)
    settings = _with_tls(settings, options)
    settings = _with_proxies(settings, options)
    if options.data_dir is not None:
        settings = replace(settings, data_dir=_folder(options.data_dir))
    if options.node_name is not None:
        settings = replace(settings, node_name=check_node_name(options.node_name))
    return replace(settings, cluster=cluster_of(options, settings.cluster, settings.data_dir))


def _loaded(file: Path) -> ServerConfig:
    from reference_broker.service.config_file import load_config  # YAML: most brokers need none

    return load_config(file)


def _with_addresses(settings: ServerConfig, options: BrokerOptions) -> ServerConfig:
    given = {"amqp": options.listen, "http": options.http, "prometheus": options.prometheus}
    addresses = {name: Address.parse(text) for name, text in given.items() if text is not None}
    return replace(settings, **addresses)  # type: ignore[arg-type]  # each by the name of its field


def _with_limits(settings: ServerConfig, options: BrokerOptions) -> ServerConfig:
    limits = settings.limits
    if options.disk_free_limit is not None:
        limits = replace(limits, disk_free_limit_bytes=parse_size(options.disk_free_limit))
    if options.message_size_max is not None:
        limits = replace(limits, message_size_max=parse_size(options.message_size_max))
    return replace(settings, limits=limits)


def _with_tls(settings: ServerConfig, options: BrokerOptions) -> ServerConfig:
    tls = settings.tls
    given = {
        "amqp": None if options.tls_listen is None else Address.parse(options.tls_listen),
        "https": None if options.https is None else Address.parse(options.https),
        "certificate": options.tls_cert,
        "key": options.tls_key,
        "authority": options.tls_ca,
        "verify": options.tls_verify,
        "login_from": options.cert_login_from,
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    if tls is None and wanted:
        if options.tls_cert is None or options.tls_key is None:
            raise BadConfiguration(
                "TLS needs a certificate and its key: --tls-cert FILE and --tls-key FILE"
            )
        tls = TlsConfig(options.tls_cert, options.tls_key)
    if tls is not None:
        tls = replace(tls, **wanted)  # type: ignore[arg-type]  # each by the name of its field
        if tls.amqp is None and tls.https is None:
            raise BadConfiguration(
                "TLS on no address: add --tls-listen HOST:PORT or --https HOST:PORT"
            )
    mechanisms = settings.mechanisms
    if options.auth_mechanisms is not None:
        mechanisms = parse_mechanisms(options.auth_mechanisms.split(","))
    return replace(settings, tls=tls, mechanisms=mechanisms)


def _with_proxies(settings: ServerConfig, options: BrokerOptions) -> ServerConfig:
    proxies = settings.proxies
    if options.proxy_from is not None:
        if options.proxy_protocol is None and proxies is None:
            raise BadConfiguration("--proxy-from needs the protocol: add --proxy-protocol v2")
        proxies = ProxySources.parse(options.proxy_from.split(","))
    if options.proxy_protocol is not None and proxies is None:
        raise BadConfiguration(
            "--proxy-protocol needs the networks of the proxies: add --proxy-from CIDR,..."
        )
    return replace(settings, proxies=proxies)


def _folder(data_dir: str) -> Path:
    """An empty text would be the current folder: what a script means by it is a variable that is
    not set."""
    if not data_dir:
        raise BadConfiguration("--data-dir is empty: name a folder, or leave the option out")
    return Path(data_dir)
