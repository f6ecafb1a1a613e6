"""The place of a socket in its TLS handshake, among those that its address may have at the door."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from reference_broker.core.handshakes import Handshakes
from reference_broker.core.peer import Peer


class Doorstep(asyncio.Protocol):
    """What a transport has as its protocol until TLS stands. ``peer`` must have entered
    ``handshakes``; call :meth:`leave` when the handshake is over, however it ended.

    The place is given back just before the protocol inside learns of its transport: it may take one
    itself in that step, and a socket never has two.
    """

    def __init__(
        self, peer: Peer, handshakes: Handshakes, inside: Callable[[], asyncio.Protocol]
    ) -> None:
        self._peer = peer
        self._handshakes = handshakes
        self._inside = inside
        self._is_counted = True

    def leave(self) -> None:
        """Give the place back. Idempotent."""
        if self._is_counted:
            self._is_counted = False
            self._handshakes.leave(self._peer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.leave()
        protocol = self._inside()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
