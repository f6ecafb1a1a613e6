"""Address of a listening socket: host and port."""

from __future__ import annotations

from typing import NamedTuple

from reference_broker.errors import BadConfiguration

_PORT_MAX = 65_535


class Address(NamedTuple):
    """Host and port to listen on. Port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address written as ``127.0.0.1:5672`` or ``[::1]:5672``. Raises
        :exc:`BadConfiguration`."""
        host, separator, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not separator or not host or not port.isascii() or not port.isdigit():
            raise BadConfiguration(f"{text!r} is not HOST:PORT, such as 127.0.0.1:5672")
        if int(port) > _PORT_MAX:
            raise BadConfiguration(f"{text!r}: a port is at most {_PORT_MAX}")
        return cls(host, int(port))
