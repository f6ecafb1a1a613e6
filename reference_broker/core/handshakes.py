"""Who is at the door: sockets that have been accepted and have not opened a virtual host, by the
address that they come from.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from reference_broker.core.peer import Peer

_HOST_BITS = 64
"""Of an IPv6 address: whoever has one of them has them all."""


class Handshakes:
    """Counts them, and lets no address have more than ``per_address_max``."""

    __slots__ = ("_by_origin", "_per_address_max")

    def __init__(self, per_address_max: int) -> None:
        self._per_address_max = per_address_max
        self._by_origin: dict[str, int] = {}

    def enter(self, peer: Peer) -> bool:
        """A socket of ``peer`` was accepted. False if that is one too many: then it is not
        counted."""
        origin = origin_of(peer.host)
        count = self._by_origin.get(origin, 0)
        if count >= self._per_address_max:
            return False
        self._by_origin[origin] = count + 1
        return True

    def leave(self, peer: Peer) -> None:
        """It has opened its virtual host, or is gone. It must have been let in."""
        origin = origin_of(peer.host)
        self._by_origin[origin] -= 1
        if not self._by_origin[origin]:
            del self._by_origin[origin]

    def count(self, host: str) -> int:
        """Those of an address that are under way."""
        return self._by_origin.get(origin_of(host), 0)


def origin_of(host: str) -> str:
    """What stands for everybody who can send from ``host``: an IPv4 address itself, of an IPv6
    address its network of 64 bits. A name that is no address stands for itself."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> _HOST_BITS << _HOST_BITS))
