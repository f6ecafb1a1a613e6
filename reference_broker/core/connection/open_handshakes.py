"""The count of open handshakes: sockets that were accepted and have not opened a virtual host, by
the address that they come from (:attr:`Peer.origin`)."""

from __future__ import annotations

from reference_broker.core.base.peer import Peer


class OpenHandshakes:
    """Counts open handshakes, and lets no address have more than ``per_address_max``."""

    __slots__ = ("_by_origin", "_per_address_max")

    def __init__(self, per_address_max: int) -> None:
        self._per_address_max = per_address_max
        self._by_origin: dict[str, int] = {}

    def enter(self, peer: Peer) -> bool:
        """Count a socket of ``peer`` that was accepted. False if that is one too many: then it is
        not counted."""
        origin = peer.origin
        count = self._by_origin.get(origin, 0)
        if count >= self._per_address_max:
            return False
        self._by_origin[origin] = count + 1
        return True

    def leave(self, peer: Peer) -> None:
        """Count a socket of ``peer`` no more: it has opened its virtual host, or is gone. It must
        have been let in."""
        origin = peer.origin
        self._by_origin[origin] -= 1
        if not self._by_origin[origin]:
            del self._by_origin[origin]

    def count(self, peer: Peer) -> int:
        """The open handshakes of the address that ``peer`` comes from."""
        return self._by_origin.get(peer.origin, 0)
