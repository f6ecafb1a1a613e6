"""Listening sockets of an address.

``localhost`` has two addresses. Clients look it up and try them in an order of their own, and some
only the first, which is ::1 more often than not: a broker on ``localhost`` is there on both.
"""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack

from reference_broker.runtime.net.address import Address

LOCALHOST = "localhost"
_LOOPBACK, _LOOPBACK_6 = "127.0.0.1", "::1"
_NO_IPV6 = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""Errors of a machine without IPv6."""


def listening_sockets(address: Address, backlog: int) -> list[socket.socket]:
    """A socket that listens on ``address``, or two of the same port for ``localhost``: IPv4 first,
    and IPv6 where this machine has it. Port 0 takes a free one. Not blocking; the caller closes
    them.

    Raises ``OSError`` for an address that can't be had; then none is left open.
    """
    with ExitStack() as opened:
        first = opened.enter_context(_listen(first_host(address), address.port, backlog))
        sockets = [first]
        if address.host == LOCALHOST:
            try:
                second = _listen(_LOOPBACK_6, first.getsockname()[1], backlog)
            except OSError as error:
                if error.errno not in _NO_IPV6:
                    raise
            else:
                sockets.append(opened.enter_context(second))
        opened.pop_all()
        return sockets


def first_host(address: Address) -> str:
    """The host of the first socket that listens on ``address``."""
    return _LOOPBACK if address.host == LOCALHOST else address.host


def _listen(host: str, port: int, backlog: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=backlog)
    listening.setblocking(False)
    return listening
