"""The processes that have a connection to the broker, as the kernel knows them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

ESTABLISHED = "01"
"""Of /proc/net/tcp, as ``tcp_states.h`` of the kernel has it."""


def writers(pids: Iterable[int], port: int) -> list[int]:
    """Those of ``pids`` with an established connection to ``port`` of 127.0.0.1."""
    inodes = established(Path("/proc/net/tcp").read_text(), port)
    return [pid for pid in pids if inodes & _sockets_of(pid)]


def established(table: str, port: int) -> set[str]:
    """The inodes of the client's sockets in the text of /proc/net/tcp. Pure."""
    found = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[2] == f"0100007F:{port:04X}" and fields[3] == ESTABLISHED:
            found.add(fields[9])
    return found


def _sockets_of(pid: int) -> set[str]:
    found = set()
    try:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
            if target.startswith("socket:["):
                found.add(target[len("socket:[") : -1])
    except OSError:  # it has gone, or has closed that descriptor
        pass
    return found
