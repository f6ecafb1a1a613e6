"""The configuration of a server: values only. They are read from a file and from options in
:mod:`reference_broker.service`.

Secrets are not shown in a repr.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from reference_broker.core.access.mechanisms import DEFAULT_MECHANISMS, EXTERNAL, MECHANISMS
from reference_broker.core.base.limits import MESSAGE_SIZE_MAX, MIB, Limits
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster_settings import ClusterSettings
from reference_broker.runtime.net.address import Address as Address
from reference_broker.runtime.net.listening_sockets import LOCALHOST
from reference_broker.runtime.net.proxy_sources import ProxySources
from reference_broker.runtime.tls.config import TlsConfig, Verify

DEFAULT_AMQP_PORT = 5672
DEFAULT_HTTP_PORT = 15672

_SIZE = re.compile(r"([0-9]{1,15})([kMGT]i?B?|KB)?")
_SIZE_PREFIXES = "kMGT"


def parse_size(text: str) -> int:
    """Bytes, with RabbitMQ's units: ``50MB`` and ``1GB`` are decimal, ``50MiB`` and ``50M`` binary.
    Raises :exc:`BadConfiguration`."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise BadConfiguration(f"{text!r} is not a number of bytes, such as 50000000, 50MB or 1GiB")
    unit = match[2] or ""
    if not unit:
        return int(match[1])
    kilo = 1000 if unit.endswith("B") and "i" not in unit else 1024
    exponent: int = _SIZE_PREFIXES.index(unit[0].replace("K", "k")) + 1
    return int(match[1]) * int(kilo**exponent)


@dataclass(frozen=True, slots=True)
class UserConfig:
    """Somebody who may log in. ``loopback_only``: from this machine only."""

    name: str
    password: str = field(repr=False)
    tags: tuple[str, ...] = ()
    loopback_only: bool = False


GUEST = UserConfig("guest", "guest", ("administrator",), loopback_only=True)
"""RabbitMQ's default user: everybody knows the password, so it is good on this machine only."""


DEFAULT_AMQP = Address(LOCALHOST, DEFAULT_AMQP_PORT)
DEFAULT_HTTP = Address("127.0.0.1", DEFAULT_HTTP_PORT)
DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server's whole configuration.

    ``data_dir`` is where messages and definitions are kept; ``None`` keeps them in memory only,
    and a restart forgets them. ``http`` is for the management API; ``None`` is none.
    ``prometheus`` is for metrics without a login (RabbitMQ's 15692). ``mechanisms`` are how clients
    may log in. ``proxies`` are who has to send a PROXY header before AMQP (and TLS); ``None`` is
    nobody. ``node_name`` is the machine's where there is none; a node of a ``cluster`` needs a
    ``data_dir``. Raises :exc:`BadConfiguration` for a ``limits.message_size_max`` above
    ``MESSAGE_SIZE_MAX``, and for mechanisms with which nobody could log in.
    """

    amqp: Address = DEFAULT_AMQP
    http: Address | None = DEFAULT_HTTP
    prometheus: Address | None = None
    data_dir: Path | None = None
    users: tuple[UserConfig, ...] = (GUEST,)
    limits: Limits = DEFAULT_LIMITS
    tls: TlsConfig | None = None
    mechanisms: frozenset[str] = DEFAULT_MECHANISMS
    proxies: ProxySources | None = None
    node_name: str | None = None
    cluster: ClusterSettings | None = None

    @property
    def node(self) -> str:
        """The name of the node: the configured one, or the machine's."""
        return self.node_name or platform.node()

    def __post_init__(self) -> None:
        size_max = self.limits.message_size_max
        if size_max > MESSAGE_SIZE_MAX:
            raise BadConfiguration(
                f"a message size of {size_max} bytes: the largest that can be allowed is"
                f" {MESSAGE_SIZE_MAX // MIB} MiB ({MESSAGE_SIZE_MAX} bytes)"
            )
        check_mechanisms(self.mechanisms, self.tls)


def parse_mechanisms(names: Iterable[str]) -> frozenset[str]:
    """Authentication mechanisms by name, in either case. Raises :exc:`BadConfiguration` for one
    that there is not, and for none at all."""
    enabled = frozenset(name.strip().upper() for name in names)
    unknown = sorted(enabled - MECHANISMS.keys())
    if unknown or not enabled:
        found = f"{unknown[0]!r} is not one" if unknown else "there has to be one"
        known = ", ".join(MECHANISMS)
        raise BadConfiguration(f"authentication mechanisms: {found} (known: {known})")
    return enabled


def check_mechanisms(mechanisms: frozenset[str], tls: TlsConfig | None) -> None:
    """Check that somebody could log in. Raises :exc:`BadConfiguration` for mechanisms with which
    nobody could."""
    parse_mechanisms(mechanisms)
    verifies = tls is not None and tls.amqp is not None and tls.verify is not Verify.NONE
    if EXTERNAL in mechanisms and not verifies:
        raise BadConfiguration(
            "the mechanism EXTERNAL takes the user's name from a certificate: it needs AMQP over"
            " TLS that verifies clients (verify: peer or required)"
        )
