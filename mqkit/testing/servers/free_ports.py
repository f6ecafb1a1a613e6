"""Ports of 127.0.0.1 that nobody listens on, and that no outgoing connection is given."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from pathlib import Path

HOST = "127.0.0.1"
FIRST = 10_000
"""The lowest port that is chosen: servers that are installed listen on lower ones."""
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
EPHEMERAL_FIRST = 32_768
"""The first port that Linux gives to an outgoing connection, if nothing else is configured."""
_RANDOM = random.SystemRandom()


def free_ports(count: int) -> list[int]:
    """So many distinct free ports, for servers that are started, ended and started again on the
    same one: the kernel gives none of them to an outgoing connection meanwhile. All are held until
    all are known. Another server may take one before you do, by a rare chance: they are drawn from
    some 20,000."""
    with ExitStack() as stack:
        held: list[int] = []
        while len(held) < count:
            port = _RANDOM.randrange(FIRST, _ephemeral_first())
            trial = socket.socket()
            try:
                trial.bind((HOST, port))
            except OSError:
                trial.close()
                continue
            stack.enter_context(trial)
            held.append(port)
        return held


def _ephemeral_first() -> int:
    try:
        first = int(EPHEMERAL.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = EPHEMERAL_FIRST
    # Where the kernel has all ports for connections, there is none that is better than another.
    return first if first > 2 * FIRST else EPHEMERAL_FIRST
