"""What a server is started with. Values only: where they come from is the command line's business.

Secrets are not shown in a repr.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from reference_broker.core.limits import MESSAGE_SIZE_MAX, MIB, Limits
from reference_broker.errors import BadConfiguration

DEFAULT_AMQP_PORT = 5672
DEFAULT_HTTP_PORT = 15672
_PORT_MAX = 65_535

_SIZE = re.compile(r"([0-9]{1,15})([kMGT]i?B?|KB)?")
_SIZE_PREFIXES = "kMGT"


class Address(NamedTuple):
    """Where to listen. Port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """``127.0.0.1:5672`` or ``[::1]:5672``. Raises :exc:`BadConfiguration`."""
        host, separator, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not separator or not host or not port.isascii() or not port.isdigit():
            raise BadConfiguration(f"{text!r} is not HOST:PORT, such as 127.0.0.1:5672")
        if int(port) > _PORT_MAX:
            raise BadConfiguration(f"{text!r}: a port is at most {_PORT_MAX}")
        return cls(host, int(port))


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


DEFAULT_AMQP = Address("127.0.0.1", DEFAULT_AMQP_PORT)
DEFAULT_HTTP = Address("127.0.0.1", DEFAULT_HTTP_PORT)
DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server's whole configuration.

    ``data_dir`` is where messages and definitions are kept; ``None`` keeps them in memory only,
    and a restart forgets them. ``http`` is for the management API; ``None`` is none.
    ``prometheus`` is for metrics without a login (RabbitMQ's 15692). Raises
    :exc:`BadConfiguration` for a ``limits.message_size_max`` above ``MESSAGE_SIZE_MAX``.
    """

    amqp: Address = DEFAULT_AMQP
    http: Address | None = DEFAULT_HTTP
    prometheus: Address | None = None
    data_dir: Path | None = None
    users: tuple[UserConfig, ...] = (GUEST,)
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        size_max = self.limits.message_size_max
        if size_max > MESSAGE_SIZE_MAX:
            raise BadConfiguration(
                f"a message size of {size_max} bytes: the largest that can be allowed is"
                f" {MESSAGE_SIZE_MAX // MIB} MiB ({MESSAGE_SIZE_MAX} bytes)"
            )
