"""File descriptors: the process's limit, and the part of it that sockets may have.

A descriptor that is missing for a socket is a client that tries again; one that is missing for the
log's next segment is a broker that stands still. So sockets end before the limit does.
"""

from __future__ import annotations

import resource
from contextlib import suppress

FILES_RESERVE = 64
"""Descriptors that no socket takes: the log, pages, reads, rewriting, certificates. Some ten are
open at a time."""

ADMINISTRATOR_RESERVE = 16
"""Descriptors that only sockets from this machine to the management API take: whoever wants to see
what is wrong, and end it, gets in."""

_UNLIMITED = 1 << 20
"""Descriptors where the system has no limit of its own."""

_PER_PROCESS = 10_240
"""macOS names no hard limit, and takes no soft one above this (OPEN_MAX)."""


def raise_limit() -> int:
    """Raise the soft limit of descriptors to the hard one, and return what it is then. The setting
    is for the whole process, so it is the decision of whoever owns that: a command, not a library.
    Idempotent."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, _PER_PROCESS):
        if soft == hard or (soft != resource.RLIM_INFINITY and wanted == _PER_PROCESS < soft):
            break
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            break
    return descriptor_limit()


def descriptor_limit() -> int:
    """The soft limit of descriptors, as it is now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNLIMITED if soft == resource.RLIM_INFINITY else soft


class SocketBound:
    """The bound of all sockets of a process, which may have ``limit`` descriptors.

    A new descriptor has the lowest number that is free (POSIX), so its number says how many are
    open at least: nothing has to be counted, and whatever has a descriptor is in the count.
    """

    __slots__ = ("_administrators_end", "sockets_end")

    def __init__(self, limit: int) -> None:
        files = min(FILES_RESERVE, limit // 4)
        self._administrators_end = limit - files
        self.sockets_end = self._administrators_end - min(ADMINISTRATOR_RESERVE, limit // 8)
        """The first descriptor that is no more for everybody's sockets."""

    def admits(self, descriptor: int, *, administrator: bool = False) -> bool:
        """True if a socket with this descriptor may stay; else close it at once. ``administrator``:
        it comes from this machine, to the management API."""
        return descriptor < (self._administrators_end if administrator else self.sockets_end)
