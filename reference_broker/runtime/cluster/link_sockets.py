"""The sockets of a node's links of one purpose, dialled or accepted, in one loop.

The shell of whoever owns the links (:class:`~reference_broker.cluster.link.shell.LinkShell`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import time
from collections.abc import Callable, Coroutine
from functools import partial

from reference_broker.cluster.link.greetings import ACCEPTED_MAX
from reference_broker.cluster.link.hello import NONCE_BYTES, Purpose
from reference_broker.cluster.link.link import GREETING_S, Link
from reference_broker.cluster.link.preface import encode_preface
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster.link_socket import LinkSocket
from reference_broker.runtime.cluster.tls import LinkTls, tls_failure
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.process.boot_clock import boot_clock
from reference_broker.runtime.process.paced_log import PacedLog

CONNECT_TIMEOUT_S = 3.0
"""Seconds for a connection to another node, TLS included. A machine that is gone says nothing."""

REFUSED_EVERY_S = 30.0
"""Seconds between two lines about nodes that have dialled this one in vain, at least: they go on
dialling."""

Step = Callable[[], None]

_log = logging.getLogger(__name__)


class LinkSockets:
    """The sockets of the links of one node, of one ``purpose``. ``as_input`` runs a step as an
    input of the links' owner; once it has been called, :meth:`flush` follows before the turn ends.
    Make it in the loop of the links; :meth:`attach` comes before anything else, :meth:`close` in
    the end."""

    def __init__(
        self,
        as_input: Callable[[Step], None],
        tls: LinkTls | None = None,
        *,
        purpose: Purpose = Purpose.LINK,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self.now = clock
        self._purpose = purpose
        self._as_input = as_input
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._accept: Callable[[], Link | None] = _nobody
        self._turn_ends: Step = _nothing
        self._by_link: dict[Link, LinkSocket] = {}
        self._open: dict[LinkSocket, None] = {}
        self._dials: set[asyncio.Task[None]] = set()
        self._arrivals: set[asyncio.Task[None]] = set()
        """Accepted sockets, until TLS is there."""
        self._looked_at: dict[Link, None] = {}
        self._refused = PacedLog(_log.warning, time.monotonic, REFUSED_EVERY_S)
        self._is_flushing = False
        self._closed = False
        self._all_gone: asyncio.Future[None] | None = None

    def attach(
        self, accept: Callable[[], Link | None], turn_ends: Callable[[], None] | None = None
    ) -> None:
        """Ask ``accept`` for the link of a socket that somebody has opened (``None``: close it),
        and call ``turn_ends`` before links are written."""
        self._accept = accept
        self._turn_ends = turn_ends or _nothing

    async def close(self) -> None:
        """Close every socket; links that were ended before have told why. Idempotent."""
        self._closed = True
        tasks = [*self._dials, *self._arrivals]
        if tasks:
            await asyncio.sleep(0)  # each has begun, and closes what it has
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.flush()
        for link_socket in list(self._open):
            link_socket.abort()
        if self._open:
            self._all_gone = self._loop.create_future()
            await self._all_gone

    # The shell of the links' owner

    def wall_ms(self) -> int:
        """The machine's wall clock."""
        return time.time_ns() // 1_000_000

    def nonce(self) -> bytes:
        """Fresh randomness."""
        return os.urandom(NONCE_BYTES)

    def dial(self, address: str, link: Link) -> None:
        """Connect to ``address``, and carry the link's bytes."""
        self._start(self._dial(address, link), self._dials)

    def _start(self, work: Coroutine[None, None, None], among: set[asyncio.Task[None]]) -> None:
        task = self._loop.create_task(work)
        among.add(task)
        task.add_done_callback(among.discard)

    async def _dial(self, address: str, link: Link) -> None:
        try:
            host, port = Address.parse(address)
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self._connect(host, port, link)
        except TimeoutError:
            self._failed(link, f"{address} has not answered for {CONNECT_TIMEOUT_S:g} s")
        except ssl.SSLError as error:
            self._failed(link, f"{address} can't be reached over TLS: {tls_failure(error)}")
        except (OSError, BadConfiguration) as error:
            self._failed(link, f"{address} can't be reached: {error}")

    async def _connect(self, host: str, port: int, link: Link) -> None:
        connected = await self._connected(host, port)
        try:
            await self._loop.sock_sendall(connected, encode_preface(self._purpose))
            await self._made(
                self._loop.create_connection(
                    lambda: LinkSocket(self, self._loop, link),
                    sock=connected,
                    ssl=None if self._tls is None else self._tls.for_dialling(),
                    server_hostname=None if self._tls is None else host,
                )
            )
        except BaseException:
            connected.close()
            raise

    async def _connected(self, host: str, port: int) -> socket.socket:
        """A socket that is connected to the first address of ``host`` that answers."""
        failure = OSError(f"{host} has no address")
        found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in found:
            connecting = socket.socket(family, kind, protocol)
            connecting.setblocking(False)
            try:
                await self._loop.sock_connect(connecting, address)
            except OSError as error:
                connecting.close()
                failure = error
            except asyncio.CancelledError:
                connecting.close()
                raise
            else:
                return connecting
        raise failure

    def take(self, accepted: socket.socket) -> None:
        """Carry the link of whoever has opened the socket, which does not block."""
        if self._closed or len(self._arrivals) >= ACCEPTED_MAX:
            accepted.close()
        else:
            self._start(self._arrive(accepted), self._arrivals)

    async def _arrive(self, accepted: socket.socket) -> None:
        tls = None if self._tls is None else self._tls.for_accepting()
        host = _host_of(accepted)
        try:
            await self._made(
                self._loop.connect_accepted_socket(
                    lambda: LinkSocket(self, self._loop),
                    accepted,
                    ssl=tls,
                    ssl_handshake_timeout=None if tls is None else GREETING_S,
                )
            )
        except OSError as error:
            accepted.close()  # it is gone again, or speaks no TLS
            if tls is not None and not self._closed:
                self._refused.line(f"no link from a node at {host} over TLS: {tls_failure(error)}")
        except asyncio.CancelledError:
            accepted.close()
            raise

    async def _made(self, making: Coroutine[object, object, object]) -> None:
        """Have a transport made. One without TLS is there in a few turns of the loop: they are
        waited for even by who is cancelled, because uvloop would close a transport whose protocol
        has heard of the connection, and not tell it."""
        if self._tls is not None:
            await making
            return
        task = self._loop.create_task(making)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise

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
        """The owner's link for a socket that somebody has opened."""
        return None if self._closed else self._accept()

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
        link = link_socket.link
        if link is not None:
            self._by_link.pop(link, None)
            self._looked_at.pop(link, None)
            if link_socket.was_accepted and not link.was_open and not self._closed:
                self._refused.line(f"no link from a node at {link_socket.host}: {link.reason}")

    # The end of a turn

    def flush_later(self) -> None:
        """Flush before the turn ends. Idempotent."""
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what links have, as an input: who waits for room in a link is told of it.
        Idempotent."""
        self._is_flushing = False
        self._as_input(self._write_all)

    def _write_all(self) -> None:
        self._turn_ends()
        looked_at, self._looked_at = self._looked_at, {}
        for link in looked_at:
            link_socket = self._by_link.get(link)
            if link_socket is not None:
                link_socket.flush()


def _host_of(connected: socket.socket) -> str:
    """The address of the machine at the other end."""
    try:
        name = connected.getpeername()
    except OSError:
        name = ()
    return str(name[0]) if name else "an address that is gone"


def _nobody() -> None:
    """Nobody's links are here yet."""


def _nothing() -> None:
    """A turn that ends."""
