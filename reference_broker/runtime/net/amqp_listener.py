"""The listening sockets of AMQP without TLS, of which a server stops some and goes on: while it is
paused or draining nobody can connect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from reference_broker.core.base.peer import Peer
from reference_broker.runtime.net.acceptor import Acceptor, SocketAdmission, Transports
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.listening_sockets import listening_sockets
from reference_broker.runtime.net.proxied_sockets import ProxiedSockets
from reference_broker.runtime.net.proxy_sources import ProxySources

LISTEN_BACKLOG = 1_024
"""Sockets that wait to be accepted: reconnects come in storms."""


class AmqpListener:
    """Accepts what is admitted; ``protocol`` makes the protocol of each socket, for its peer, and
    ``proxies`` send a PROXY header before. ``addresses`` are those that it has listened on last."""

    def __init__(
        self,
        admission: SocketAdmission,
        protocol: Callable[[Peer], asyncio.Protocol],
        proxies: ProxySources | None,
    ) -> None:
        self.addresses: list[Address] = []
        self._admission = admission
        self._proxies = proxies
        self._transports = Transports(protocol)
        self._acceptor: Acceptor | None = None
        self._proxied: ProxiedSockets | None = None

    @property
    def port(self) -> int:
        """The port, once it has listened; the one that it was given the first time."""
        return self.addresses[0].port

    @property
    def is_listening(self) -> bool:
        """True while it accepts what is admitted."""
        return self._acceptor is not None

    def listen(self, address: Address) -> None:
        """Listen in the running loop, on the port of the last time if there was one. Raises
        ``OSError``."""
        port = self.addresses[0].port if self.addresses else address.port
        listening = listening_sockets(Address(address.host, port), LISTEN_BACKLOG)
        self.addresses = [Address(*each.getsockname()[:2]) for each in listening]
        accepted = self._transports.accepted
        if self._proxies is not None:
            self._proxied = ProxiedSockets("AMQP", self._proxies, accepted)
            accepted = self._proxied.accepted
        self._acceptor = Acceptor(listening, self._admission, accepted)

    async def stop(self) -> None:
        """Accept no more; connections that are open stay. Idempotent."""
        if self._acceptor is not None:
            self._acceptor.stop()
            self._acceptor = None
        if self._proxied is not None:
            self._proxied.stop()
        await self._transports.stop()
