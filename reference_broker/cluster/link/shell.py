"""The port through which the owner of links has sockets, clocks and randomness."""

from __future__ import annotations

from typing import Protocol

from reference_broker.cluster.link.link import Link


class LinkShell(Protocol):
    """The sockets of a node, as the owner of its links sees them."""

    def now(self) -> float:
        """Seconds of a clock that goes on while the machine sleeps."""
        ...

    def wall_ms(self) -> int:
        """The machine's wall clock."""
        ...

    def nonce(self) -> bytes:
        """Random octets, as many as a handshake takes, that were never used before."""
        ...

    def dial(self, address: str, link: Link) -> None:
        """Connect to ``address``, and carry the link's bytes; where that can't be done, call
        :meth:`Link.lost`, in a later input."""
        ...

    def look_at(self, link: Link) -> None:
        """The link may have output, or another deadline: write it, before the turn ends."""
        ...
