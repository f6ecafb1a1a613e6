"""The open sockets of an HTTP server: bounded in all and by address.

A socket that waits for a request costs a descriptor and nothing else, so nobody is refused for such
ones: where there are too many, the one that has waited longest makes room. There are always such
ones, as fewer requests are answered at a time than sockets may be open.
"""

from __future__ import annotations

from typing import Protocol

from reference_broker.http.serving.request_slots import (
    CHECKS_MAX,
    REQUESTS_MAX,
    REQUESTS_PER_ADDRESS_MAX,
)

SOCKETS_MAX = 2 * (REQUESTS_MAX + CHECKS_MAX)
"""Open sockets of a listener."""

SOCKETS_PER_ADDRESS_MAX = 2 * REQUESTS_PER_ADDRESS_MAX
"""Open sockets of one address."""


class WaitingSocket(Protocol):
    """A socket, as it is counted here."""

    @property
    def is_waiting(self) -> bool:
        """True while no request has arrived whole that is not answered yet."""

    def make_room(self) -> None:
        """Close: somebody else needs the place."""


class OpenSockets:
    """Sockets by origin (:attr:`Peer.origin`), oldest first."""

    __slots__ = ("_by_origin", "_count")

    def __init__(self) -> None:
        self._by_origin: dict[str, dict[WaitingSocket, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def enter(self, socket: WaitingSocket, origin: str) -> bool:
        """Count a socket that was accepted. Where there are too many, one that waits is closed for
        it: of the same address, or of the address that has most of them. False where
        none waits; then the socket is not counted, and has to be closed."""
        if len(self._by_origin.get(origin, {})) >= SOCKETS_PER_ADDRESS_MAX:
            has_room = self._make_room(origin)
        elif self._count >= SOCKETS_MAX:
            has_room = self._make_room(max(self._by_origin, key=self._waiting))
        else:
            has_room = True
        if not has_room:
            return False
        self._by_origin.setdefault(origin, {})[socket] = None
        self._count += 1
        return True

    def again(self, socket: WaitingSocket, origin: str) -> None:
        """``socket`` has had an answer, so it has not waited for long: it is the newest now."""
        sockets = self._by_origin.get(origin, {})
        if socket in sockets:
            del sockets[socket]
            sockets[socket] = None

    def leave(self, socket: WaitingSocket, origin: str) -> None:
        """Count a socket no more. Idempotent."""
        sockets = self._by_origin.get(origin, {})
        if socket in sockets:
            del sockets[socket]
            self._count -= 1
            if not sockets:
                del self._by_origin[origin]

    def _waiting(self, origin: str) -> int:
        return sum(each.is_waiting for each in self._by_origin[origin])

    def _make_room(self, origin: str) -> bool:
        oldest = next((each for each in self._by_origin[origin] if each.is_waiting), None)
        if oldest is None:
            return False
        self.leave(oldest, origin)
        oldest.make_room()
        return True
