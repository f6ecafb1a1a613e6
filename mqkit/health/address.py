"""The address that probes come to: ``127.0.0.1:8080``, ``[::1]:8080``, ``0.0.0.0:8080``."""

from __future__ import annotations

from typing import NamedTuple

from mqkit.errors import ConfigurationError

PORT_MAX = 65_535


class Address(NamedTuple):
    """A host, and a port; 0 is one that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """The address that ``text`` is. Raises :exc:`~mqkit.errors.ConfigurationError`."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ConfigurationError(f"health={text!r}: write an IPv6 address in brackets, [::1]:8080")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > PORT_MAX:
        raise ConfigurationError(
            f"health={text!r}: expected a host and a port from 0 to {PORT_MAX}, 127.0.0.1:8080"
        )
    if not host:
        raise ConfigurationError(
            f"health={text!r} does not say who may connect: 127.0.0.1:{port} is this machine alone,"
            f" 0.0.0.0:{port} whoever can reach it (there is no login)"
        )
    return Address(host, int(port))
