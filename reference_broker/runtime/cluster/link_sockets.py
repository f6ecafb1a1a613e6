"""The sockets of a node's links: one that listens, and those that are dialled or accepted.

The shell of the mesh (:class:`~reference_broker.cluster.mesh.MeshShell`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from ssl import SSLContext
from typing import NamedTuple

from reference_broker.cluster.link.hello import NONCE_BYTES
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.mesh import Mesh
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster.link_socket import LinkSocket
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.listening_sockets import listening_sockets
from reference_broker.runtime.process.boot_clock import boot_clock

CONNECT_TIMEOUT_S = 3.0
"""Seconds for a connection to another node, TLS included. A machine that is gone says nothing."""

BACKLOG = 64
"""Nodes that wait to be accepted: there are six."""

Step = Callable[[], None]


class LinkTls(NamedTuple):
    """TLS for links, both ways."""

    accepting: SSLContext
    dialling: SSLContext


class LinkSockets:
    """The sockets of the links of one node. ``as_input`` runs a step as an input of the core; once
    it has been called, :meth:`flush` follows before the turn ends. Give the mesh with
    :meth:`attach` before anything else; :meth:`close` in the end."""

    def __init__(
        self,
        as_input: Callable[[Step], None],
        tls: LinkTls | None = None,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self.now = clock
        self._as_input = as_input
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._mesh: Mesh | None = None
        self._servers: list[asyncio.Server] = []
        self._by_link: dict[Link, LinkSocket] = {}
        self._open: dict[LinkSocket, None] = {}
        self._dials: set[asyncio.Task[None]] = set()
        self._looked_at: dict[Link, None] = {}
        self._is_flushing = False
        self._closed = False
        self._all_gone: asyncio.Future[None] | None = None

    def attach(self, mesh: Mesh) -> None:
        """Be the shell of ``mesh``."""
        self._mesh = mesh

    async def listen(self, address: Address) -> Address:
        """Listen there; port 0 takes a free one. Returns where others connect to. Raises
        ``OSError``, and :exc:`BadConfiguration` for an address that others can reach, where links
        have no TLS."""
        if self._tls is None and not _is_loopback(address.host):
            raise BadConfiguration(
                f"nodes that listen on {address} are reached from elsewhere, and what goes over"
                " their links can be read and changed on the way: give them TLS, or listen on"
                " 127.0.0.1"
            )
        for listening in listening_sockets(address, BACKLOG):
            server = await self._loop.create_server(
                lambda: LinkSocket(self, self._loop),
                sock=listening,
                ssl=None if self._tls is None else self._tls.accepting,
            )
            self._servers.append(server)
        return Address(*self._servers[0].sockets[0].getsockname()[:2])

    async def close(self) -> None:
        """Listen no more, and close every socket; links that were ended before have told why.
        Idempotent."""
        self._closed = True
        for server in self._servers:
            server.close()
        for task in list(self._dials):
            task.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        self.flush()
        for link_socket in list(self._open):
            link_socket.abort()
        if self._open:
            self._all_gone = self._loop.create_future()
            await self._all_gone

    # The shell of the mesh

    def wall_ms(self) -> int:
        """The machine's wall clock."""
        return time.time_ns() // 1_000_000

    def nonce(self) -> bytes:
        """Fresh randomness."""
        return os.urandom(NONCE_BYTES)

    def dial(self, address: str, link: Link) -> None:
        """Connect to ``address``, and carry the link's bytes."""
        task = self._loop.create_task(self._dial(address, link))
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    async def _dial(self, address: str, link: Link) -> None:
        try:
            host, port = Address.parse(address)
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self._loop.create_connection(
                    lambda: LinkSocket(self, self._loop, link),
                    host,
                    port,
                    ssl=None if self._tls is None else self._tls.dialling,
                )
        except TimeoutError:
            self._failed(link, f"{address} has not answered for {CONNECT_TIMEOUT_S:g} s")
        except (OSError, BadConfiguration) as error:
            self._failed(link, f"{address} can't be reached: {error}")

    def _failed(self, link: Link, reason: str) -> None:
        if not self._closed:
            self._as_input(partial(link.lost, reason))
            self.flush_later()

    def look_at(self, link: Link) -> None:
        """Flush the link's socket before the turn ends."""
        self._looked_at[link] = None
        self.flush_later()

    # The host of the sockets

    def accepted(self) -> Link | None:
        """The mesh's link for a socket that somebody has opened."""
        return None if self._closed or self._mesh is None else self._mesh.accepted()

    def input(self, link_socket: LinkSocket, step: partial[None]) -> None:
        """Run ``step`` as an input, and flush at the end of the turn."""
        link = link_socket.link
        assert link is not None
        self._by_link[link] = link_socket
        self._open[link_socket] = None
        self._as_input(step)
        self.look_at(link)

    def gone(self, link_socket: LinkSocket) -> None:
        """Forget the socket."""
        self._open.pop(link_socket, None)
        if not self._open and self._all_gone is not None and not self._all_gone.done():
            self._all_gone.set_result(None)
        if link_socket.link is not None:
            self._by_link.pop(link_socket.link, None)
            self._looked_at.pop(link_socket.link, None)

    # The end of a turn

    def flush_later(self) -> None:
        """Flush before the turn ends. Idempotent."""
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what links have. Idempotent."""
        self._is_flushing = False
        if self._mesh is not None:
            self._mesh.flush()
        looked_at, self._looked_at = self._looked_at, {}
        for link in looked_at:
            link_socket = self._by_link.get(link)
            if link_socket is not None:
                link_socket.flush()


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
