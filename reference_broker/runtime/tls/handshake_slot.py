"""A socket's slot among the open handshakes of its address, held until TLS stands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from reference_broker.core.base.peer import Peer
from reference_broker.core.connection.open_handshakes import OpenHandshakes
from reference_broker.runtime.tls.client import check_client


class HandshakeSlot(asyncio.Protocol):
    """The protocol of a transport until TLS stands. ``peer`` must have entered ``handshakes``; call
    :meth:`leave` when the handshake is over, however it ended.

    The slot is given back just before the protocol inside learns of its transport: it may take one
    itself in that step, and a socket never has two. What came right behind the handshake is handed
    on to it. A client whose certificate is no good any more comes no further: ``refused`` is called
    with the reason. Nor does one that is gone already.
    """

    def __init__(
        self,
        peer: Peer,
        handshakes: OpenHandshakes,
        inside: Callable[[], asyncio.Protocol],
        refused: Callable[[str], None],
        trusts: Callable[[asyncio.Protocol], bool] = lambda _: False,
    ) -> None:
        self._peer = peer
        self._handshakes = handshakes
        self._inside = inside
        self._refused = refused
        self._is_counted = True
        self._trusts = trusts
        self._protocol: asyncio.Protocol | None = None
        self._early = b""
        self._is_lost = False

    @property
    def is_trusted(self) -> bool:
        """True when ``trusts`` the protocol inside, which has begun."""
        return self._protocol is not None and self._trusts(self._protocol)

    def leave(self) -> None:
        """Give the slot back. Idempotent."""
        if self._is_counted:
            self._is_counted = False
            self._handshakes.leave(self._peer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.leave()
        if self._is_lost:
            return
        try:
            check_client(transport)
        except ValueError as error:
            self._refused(str(error))
            cast(asyncio.Transport, transport).abort()
            return
        self._protocol = protocol = self._inside()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        early, self._early = self._early, b""
        if early:
            protocol.data_received(early)

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
