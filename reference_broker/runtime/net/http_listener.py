"""A listening socket of the HTTP server."""

from __future__ import annotations

import socket

from starlette.types import ASGIApp

from reference_broker.core.base.peer import Peer
from reference_broker.http import HttpServer, TurnShare
from reference_broker.runtime.net.acceptor import Acceptor, SocketAdmission, Transports
from reference_broker.runtime.process.descriptors import SocketBound, descriptor_limit

LISTEN_BACKLOG = 128
"""Sockets that wait to be accepted."""


class HttpListener:
    """A server of one application on a socket of its own. ``port`` is known once it is started.
    ``share`` and ``admission`` are those of all listeners of the process."""

    port: int

    def __init__(
        self,
        app: ASGIApp,
        share: TurnShare | None = None,
        admission: SocketAdmission | None = None,
    ) -> None:
        self._app = app
        self._share = share
        self._admission = admission or SocketAdmission(SocketBound(descriptor_limit()))
        self._acceptor: Acceptor | None = None
        self._server: HttpServer | None = None
        self._transports: Transports | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen, and serve from now on. Port 0 takes a free one. Raises ``OSError`` for an
        address that can't be had; then nothing is left open."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=LISTEN_BACKLOG)
        listening.setblocking(False)
        address, self.port = listening.getsockname()[:2]
        is_loopback = Peer(address, 0, "", 0).is_loopback
        self._server = HttpServer(self._app, self._share, is_loopback=is_loopback)
        await self._server.start()
        protocol = self._server.protocol
        self._transports = Transports(lambda _: protocol())
        self._acceptor = Acceptor(
            [listening], self._admission, self._transports.accepted, is_management=True
        )

    async def stop(self) -> None:
        """Finish the answers that are being made, and close. Idempotent; fine if it was never
        started."""
        if self._acceptor is not None and self._transports is not None:
            self._acceptor.stop()
            await self._transports.stop()
        if self._server is not None:
            await self._server.stop()
