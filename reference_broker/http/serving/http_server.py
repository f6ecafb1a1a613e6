"""The HTTP server: uvicorn on sockets that somebody else accepts, in the loop that is running.

Signals and logging are the process's business, so uvicorn is kept from both. It trusts no
``X-Forwarded-For``: a client could claim to be on this machine.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Message
from uvicorn.protocols.http.h11_impl import H11Protocol

from reference_broker.http.request.turn_share import TurnShare
from reference_broker.http.serving.admission import Admission
from reference_broker.http.serving.host_check import HostCheck
from reference_broker.http.serving.open_sockets import OpenSockets
from reference_broker.http.serving.stopping import Stopping
from reference_broker.http.serving.timed_protocol import INCOMPLETE_BYTES_MAX, Shares, TimedProtocol

KEEP_ALIVE_S = 30
"""Seconds that a connection may be idle between requests."""

CLOSE_TIMEOUT_S = 2
"""Seconds that a stop waits for requests that are being answered."""

DATE_EVERY_S = 1
"""Seconds between two updates of the ``Date`` header."""


class _EmbeddedServer(uvicorn.Server):
    """uvicorn as a guest in somebody else's process. It neither asks ten times a second whether it
    should exit, nor rests before it closes what nobody has open."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()
        self._told_to_exit = asyncio.Event()

    def exit(self) -> None:
        """End :meth:`serve`."""
        self.should_exit = True
        self._told_to_exit.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # the tick with the header
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told_to_exit.wait(), DATE_EVERY_S)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)


class HttpServer:
    """Serves one ASGI application to whoever hands it sockets (see :meth:`protocol`). ``share`` is
    the part of the loop that it has together with other servers. ``is_loopback``: all its listeners
    are on loopback, so that a request has to name this machine."""

    def __init__(
        self, app: ASGIApp, share: TurnShare | None = None, *, is_loopback: bool = False
    ) -> None:
        share = share or TurnShare()
        self._shares = Shares(share, OpenSockets())
        admitted = Stopping(Admission(app, share))
        self._server = _EmbeddedServer(
            uvicorn.Config(
                HostCheck(admitted) if is_loopback else admitted,
                http=H11Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=CLOSE_TIMEOUT_S,
                h11_max_incomplete_event_size=INCOMPLETE_BYTES_MAX,
            )
        )
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Serve the sockets that come from now on."""
        await _imported()
        serving = self._server.serve(sockets=[])
        self._serving = asyncio.create_task(serving, name="http")
        await self._server.up.wait()

    def protocol(self) -> asyncio.Protocol:
        """A protocol for one accepted socket. The server must be started."""
        server = self._server
        return TimedProtocol(
            server.config, server.server_state, server.lifespan.state, self._shares
        )

    async def stop(self) -> None:
        """Finish the answers that are being made, and close. Idempotent; fine if it was never
        started."""
        serving, self._serving = self._serving, None
        if serving is not None:
            self._server.exit()
            await serving


async def _imported() -> None:
    """Have that imported which Starlette's first answer in pieces imports: 27 ms, in which nobody
    is served."""
    scope = {"type": "http", "asgi": {"spec_version": "2.0"}}
    await StreamingResponse(iter(()))(scope, _nothing_comes, _forget)


async def _nothing_comes() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("nothing comes")


async def _forget(message: Message) -> None:
    pass
