"""The socket of one connection: bytes from the client to the core, and the connection's output
back.

Nothing is sent while an input is handled. The server flushes once per turn of the loop, so that
hundreds of deliveries and confirms leave in one write; a large message leaves in portions
(``paced_output.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, cast

from reference_broker.core.base.limits import DELIVERY_OUTPUT_BYTES_MAX
from reference_broker.core.base.peer import Peer, ProxyHeader
from reference_broker.core.base.tls_session import TlsSession
from reference_broker.core.connection.connection import Connection
from reference_broker.errors import ConnectionException, ReplyCode
from reference_broker.runtime.net.paced_output import PacedOutput
from reference_broker.runtime.process.timers import Timer

CLOSE_LINGER_S = 5.0
"""Seconds for a socket to send its last bytes to a peer that is slow to read them."""

READ_BYTES_PER_TURN = 1 << 18
"""Bytes that a socket may bring in one turn of the loop; then the others have theirs first. libuv
would read it up to 32 times, 8 MiB: small messages for a second, and nobody else is served."""

TlsOf = Callable[[asyncio.BaseTransport], TlsSession | None]
"""Reads the TLS session of a connected socket; ``None`` for a socket without TLS. Raises
``ValueError`` for a client certificate that can't be read."""

_log = logging.getLogger(__name__)


def _no_tls(_: asyncio.BaseTransport) -> None:
    return None


class ConnectionHost(Protocol):
    """The server, as its sockets see it."""

    turn: int
    """Number of the loop's turn: another one after each flush."""

    def connected(self, protocol: ConnectionProtocol, peer: Peer) -> Connection | None:
        """A socket was accepted. The answer is its connection; ``None`` if there are too many."""

    def lost(self, protocol: ConnectionProtocol) -> None:
        """The socket is gone: ``protocol.end()`` is to be called, in this turn or a later one."""

    def disconnected(self, protocol: ConnectionProtocol) -> None:
        """The socket is closed, and its connection was told."""

    def now(self) -> tuple[float, int]:
        """Monotonic seconds, and wall-clock milliseconds."""

    def input(self, cause: str) -> tuple[float, int]:
        """The times, for an input that begins: ``cause`` says what it is."""

    def input_handled(self) -> None:
        """The core was given something: there may be something to flush."""


class SocketTimers(Protocol):
    """The event loop, as its sockets see it."""

    def call_soon(self, callback: Callable[[], None], /) -> object:
        """Call ``callback`` in the next turn."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer:
        """Call ``callback`` so many seconds from now, unless it is cancelled before."""


class ConnectionProtocol(asyncio.Protocol):
    """The glue between one transport and one :class:`Connection`. ``tls_of`` is asked once, when
    the socket is connected. ``proxy`` is the PROXY header that came before, if one did."""

    connection: Connection
    """Set when the socket is connected, unless it is refused."""

    def __init__(
        self,
        host: ConnectionHost,
        loop: SocketTimers,
        tls_of: TlsOf = _no_tls,
        proxy: ProxyHeader | None = None,
    ) -> None:
        self._host = host
        self._tls_of = tls_of
        self._proxy = proxy
        self._loop = loop
        self.is_refused = False
        self._is_lost = False
        self._reading = True
        self._turn = 0
        self._read_in_turn = 0
        self._linger: Timer | None = None

    # From the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=DELIVERY_OUTPUT_BYTES_MAX)
        self._output = self._paced(self._transport)
        peer = self._peer_of(transport)
        connection = None if peer is None else self._host.connected(self, peer)
        if connection is None:
            self.is_refused = True
            self._transport.abort()
        else:
            self.connection = connection

    def _paced(self, transport: asyncio.Transport) -> PacedOutput:
        return PacedOutput(transport, self._write_later)

    def data_received(self, data: bytes) -> None:
        if not self.is_refused:
            moment = self._host.input("frames of a client")
            self._guarded(lambda: self.connection.receive_data(data, *moment))
            self._host.input_handled()
            self._take_turns(len(data))

    def connection_lost(self, exc: Exception | None) -> None:
        if self.is_refused:
            return
        if self._linger is not None:
            self._linger.cancel()
        self._output.clear()
        self._is_lost = True
        self._host.lost(self)

    def end(self) -> None:
        """Tell the core that the socket is gone."""
        moment = self._host.input("the end of a connection")
        self._guarded(lambda: self.connection.receive_eof(*moment))
        self._host.disconnected(self)
        self._host.input_handled()

    def pause_writing(self) -> None:
        self._output.pause()
        self.connection.pause_writing()

    def resume_writing(self) -> None:
        self._output.resume()
        self._has_written()

    def _write_later(self) -> None:
        self._loop.call_soon(self._write_on)

    def _write_on(self) -> None:
        self._output.go_on()
        if not self._is_lost:
            self._has_written()

    def _has_written(self) -> None:
        if self._output.takes_more:
            self._guarded(lambda: self.connection.resume_writing(*self._host.now()))
            self._host.input_handled()

    def _take_turns(self, read: int) -> None:
        """Read no more in this turn, if this socket has brought its share."""
        if self._turn != self._host.turn:
            self._turn = self._host.turn
            self._read_in_turn = 0
        self._read_in_turn += read
        if self._read_in_turn >= READ_BYTES_PER_TURN and self._reading:
            self._read(wanted=False)
            self._loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if not self._transport.is_closing():
            self._read(wanted=self._reading)

    def _read(self, *, wanted: bool) -> None:
        """Pause or resume reading, where that is a change: not all event loops take a second
        pause."""
        if wanted != self._transport.is_reading():
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()

    # From the server

    @property
    def has_unsent(self) -> bool:
        """True while the transport or what stands before it has octets that the socket has not
        taken."""
        return not self._output.is_empty or self._transport.get_write_buffer_size() > 0

    def flush(self) -> None:
        """Send the connection's output, then close the socket or pause its reading as the
        connection says."""
        if self._is_lost:
            return
        connection = self.connection
        if connection.output and (connection.closed or self._output.takes_more):
            size = connection.output_size
            self._output.write(connection.take_output(), size)
            if connection.starved and self._output.takes_more:
                self.resume_writing()
        if connection.closed:
            self._close()
        elif connection.wants_reading != self._reading:
            self._reading = connection.wants_reading
            self._read(wanted=self._reading)

    def _close(self) -> None:
        """Close now, if the transport has everything; else the flush after ``resume_writing`` comes
        here again."""
        if self._linger is None:
            self._linger = self._loop.call_later(CLOSE_LINGER_S, self._transport.abort)
        if self._output.is_empty:
            self._transport.close()

    def abort(self) -> None:
        """Close the socket now, whatever was still to be sent."""
        self._transport.abort()

    def _guarded(self, step: Callable[[], None]) -> None:
        """Run ``step``. A mistake of ours ends the connection that met it, and no other."""
        try:
            step()
        except Exception:  # noqa: BLE001 - whatever it is, the other connections go on
            _log.exception("%r is closed for an error of the broker", self.connection)
            self.connection.fail(ConnectionException(ReplyCode.INTERNAL_ERROR, "see the log"))

    def _peer_of(self, transport: asyncio.BaseTransport) -> Peer | None:
        """The peer of the socket; ``None`` for a client that is gone again already, whose socket
        knows no address any more, and for one with a certificate that can't be read."""
        remote, local = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if not remote or not local:
            return None
        peer = Peer(remote[0], remote[1], local[0], local[1], proxy=self._proxy)
        try:
            tls = self._tls_of(transport)
        except ValueError as error:
            host, port = peer.shown[:2]
            _log.warning("%s:%s refused: its certificate can't be read: %s", host, port, error)
            return None
        return peer if tls is None else replace(peer, tls=tls)


def has_logged_in(protocol: asyncio.Protocol) -> bool:
    """True if ``protocol`` is that of a connection whose client has opened its virtual host."""
    return (
        isinstance(protocol, ConnectionProtocol)
        and not protocol.is_refused
        and protocol.connection.vhost is not None
    )
