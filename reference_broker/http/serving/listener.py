"""The HTTP server: uvicorn on a socket of ours, in the loop that is running.

Signals and logging are the process's business, so uvicorn is kept from both. It trusts no
``X-Forwarded-For``: a client could claim to be on this machine.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from reference_broker.http.serving.timed_protocol import TimedProtocol

CONNECTIONS_MAX = 256
"""Sockets and requests at a time: a scraper and a few people need ten. More are answered 503."""

HEADERS_BYTES_MAX = 64 * 1024
"""A request's line and headers: room for a path of three names of 255 bytes, percent-encoded."""

KEEP_ALIVE_S = 30
"""Seconds that a connection may be idle between requests."""

CLOSE_TIMEOUT_S = 2
"""Seconds that a stop waits for requests that are being answered."""

_BACKLOG = 128


class _EmbeddedServer(uvicorn.Server):
    """uvicorn as a guest in somebody else's process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


class HttpServer:
    """Serves one ASGI application to whoever hands it sockets (see :meth:`protocol`)."""

    def __init__(self, app: ASGIApp) -> None:
        self._server = _EmbeddedServer(
            uvicorn.Config(
                app,
                http=TimedProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=_BACKLOG,
                limit_concurrency=CONNECTIONS_MAX,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=CLOSE_TIMEOUT_S,
                h11_max_incomplete_event_size=HEADERS_BYTES_MAX,
            )
        )
        self._serving: asyncio.Task[None] | None = None

    async def start(self, *listening: socket.socket) -> None:
        """Serve from now on, and accept on those sockets."""
        serving = self._server.serve(sockets=list(listening))
        self._serving = asyncio.create_task(serving, name="http")
        await self._server.up.wait()

    def protocol(self) -> asyncio.Protocol:
        """A protocol for one accepted socket. The server must be started."""
        server = self._server
        return TimedProtocol(server.config, server.server_state, server.lifespan.state)

    async def stop(self) -> None:
        """Finish the answers that are being made, and close. Idempotent; fine if it was never
        started."""
        serving, self._serving = self._serving, None
        if serving is not None:
            self._server.should_exit = True
            await serving


class HttpListener:
    """A server of one application on a socket of its own. ``port`` is known once it is started."""

    port: int

    def __init__(self, app: ASGIApp) -> None:
        self._server = HttpServer(app)

    async def start(self, host: str, port: int) -> None:
        """Listen, and serve from now on. Port 0 takes a free one. Raises ``OSError`` for an
        address that can't be had; then nothing is left open."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        await self._server.start(listening)

    async def stop(self) -> None:
        """Finish the answers that are being made, and close. Idempotent; fine if it was never
        started."""
        await self._server.stop()
