"""Free ports that are known, and nobody else's, before anything listens on them."""

from __future__ import annotations

import socket

from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.listening_sockets import first_host


class HeldPorts:
    """Sockets that are bound, and don't listen: whoever connects is refused. :meth:`release` them
    when it is time to listen."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def hold(self, address: Address) -> Address:
        """The address with a port: a free one, which is held, in place of port 0. Raises
        ``OSError`` for a host that can't be had."""
        if address.port:
            return address
        host = first_host(address)
        held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self._sockets.append(held)
        held.bind((host, 0))
        return Address(address.host, held.getsockname()[1])

    def release(self) -> None:
        """Let go of all of them. Idempotent."""
        while self._sockets:
            self._sockets.pop().close()
