"""The socket of one link: bytes between a transport of the event loop and a :class:`Link`."""

from __future__ import annotations

import asyncio
import socket
import ssl
from functools import partial
from typing import Protocol, cast

from reference_broker.cluster.link.link import Link
from reference_broker.runtime.cluster.tls import tls_failure
from reference_broker.runtime.process.timers import TickTimer

UNSENT_BYTES = 256 * 1024
"""Bytes that the system and the transport may each hold unsent: a heartbeat overtakes what is still
in the link, and nothing that is there."""

WRITTEN_PER_TURN_BYTES = 1024 * 1024
"""Bytes that a flush hands to the socket, or some more: half a millisecond of checksums and copies.
One on the same machine takes as much as there is."""

READ_PER_TURN_BYTES = 1024 * 1024
"""Bytes after which the others have their turn. libuv would read the socket up to 32 times, 8
MiB."""

_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25 if hasattr(socket, "TCP_CORK") else None)
"""Linux has it, and Python names it from 3.12 on."""


class LinkHost(Protocol):
    """The sockets of a node, as one of them sees them."""

    def accepted(self) -> Link | None:
        """The link for a socket that somebody has opened; ``None``: close it."""
        ...

    def input(self, link_socket: LinkSocket, step: partial[None]) -> None:
        """Run ``step`` as an input of the core, and flush the socket at the end of the turn."""
        ...

    def look_at(self, link: Link) -> None:
        """Flush the link's socket at the end of the turn; of the next one, where this is it."""
        ...

    def now(self) -> float:
        """Seconds of the clock of all links."""
        ...

    def gone(self, link_socket: LinkSocket) -> None:
        """The socket is closed."""
        ...


class LinkSocket(asyncio.Protocol):
    """The socket of ``link``, which this end has dialled; of a new one, where somebody has dialled
    this end."""

    def __init__(
        self, host: LinkHost, loop: asyncio.AbstractEventLoop, link: Link | None = None
    ) -> None:
        self.link = link
        self.was_accepted = link is None
        """Somebody has dialled this end."""
        self.host = ""
        """The address of the machine at the other end, once it is connected."""
        self._host = host
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._takes_output = True
        self._read_bytes = 0
        """Since reading was resumed last."""
        self._goes_on = False
        """The next turn begins with :meth:`_go_on`."""
        self._timer = TickTimer(loop.call_at, self._tick)

    # From the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=UNSENT_BYTES)
        peer = transport.get_extra_info("peername")
        self.host = str(peer[0]) if peer else ""
        connected = transport.get_extra_info("socket")
        if connected is not None and _NOTSENT_LOWAT is not None:
            connected.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, UNSENT_BYTES)
        if self.link is None:
            self.link = self._host.accepted()
        if self.link is None:
            self._transport.abort()
        else:
            self._host.input(self, partial(_nothing))

    def data_received(self, data: bytes) -> None:
        self._host.input(self, partial(self._take, data))
        self._read_bytes += len(data)
        if self._read_bytes >= READ_PER_TURN_BYTES:
            self._read_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        if self.link is not None:
            self._host.input(self, partial(self.link.lost, self._reason(exc)))
        self._host.gone(self)

    def _reason(self, error: Exception | None) -> str:
        if isinstance(error, ssl.SSLError):
            return tls_failure(error)
        if error is not None:
            return str(error) or type(error).__name__
        is_refused = self.link is not None and not self.link.was_open and not self.was_accepted
        return "the other end closed it" + (", and its log says why" if is_refused else "")

    def pause_writing(self) -> None:
        self._takes_output = False

    def resume_writing(self) -> None:
        self._takes_output = True
        self._host.input(self, partial(_nothing))  # who waits for room in the link is told of it

    # Inputs

    def _take(self, data: bytes) -> None:
        assert self.link is not None
        self.link.receive_data(data, self._host.now())

    def _advance(self) -> None:
        assert self.link is not None
        self.link.advance(self._host.now())

    def _tick(self) -> None:
        assert self.link is not None
        self._host.input(self, partial(self.link.tick, self._host.now()))

    # Output

    def flush(self) -> None:
        """Write what the link has, as far as the socket takes it and the turn goes, and arm the
        link's timer."""
        link, transport = self.link, self._transport
        if link is None or transport is None or transport.is_closing():
            return
        written = 0
        while self._takes_output and link.has_output and written < WRITTEN_PER_TURN_BYTES:
            buffers = link.data_to_send()
            written += sum(map(len, buffers))
            transport.writelines(buffers)
        if link.closed:
            transport.close()
            return
        deadline = link.next_deadline()
        if deadline is not None:
            self._timer.arm(self._loop.time() + max(0.0, deadline - self._host.now()))
        if self._takes_output and link.has_output:
            self._host.look_at(link)
        if link.more_waits:
            self._read_later()

    def _read_later(self) -> None:
        """Read nothing more in this turn."""
        transport = self._transport
        if transport is not None and transport.is_reading():
            transport.pause_reading()
        if not self._goes_on:
            self._goes_on = True
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Take the frames for which the last turn had no time; only then read more."""
        self._goes_on = False
        self._read_bytes = 0
        link, transport = self.link, self._transport
        if link is None or transport is None or transport.is_closing():
            return
        if link.more_waits:
            self._host.input(self, partial(self._advance))
        if not link.more_waits and not transport.is_closing():
            transport.resume_reading()

    def abort(self) -> None:
        """Close the socket at once, and send nothing more."""
        if self._transport is not None:
            self._transport.abort()


def _nothing() -> None:
    """A step that only has the socket flushed."""
