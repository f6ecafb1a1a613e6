"""A native connection on an asyncio transport: what a turn writes goes out together at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from mqkit.message import Properties
from mqkit.transport.native.connection import NativeConnection
from mqkit.transport.native.decoding import properties_of
from mqkit.transport.seam import Endpoint

WRITE_OCTETS_HIGH = 512 * 1024
"""Above this, what asyncio holds for the socket makes publishers wait."""

READ_OCTETS = 256 * 1024
"""The octets that one read takes, as many as asyncio's own."""

LINGER_S = 5.0
"""The time for a closed connection's last octets; a peer that reads nothing gets none."""


class NativeProtocol(asyncio.BufferedProtocol):
    """Made by ``loop.create_connection``; then await :attr:`opened`.

    Reads into a buffer of its own: asyncio would allocate 256 KiB for the 21 octets of a confirm,
    and at that size the allocator asks the system for the pages each time.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        name: str,
        heartbeat_s: int,
        read_properties: Callable[[bytes], Properties] = properties_of,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = self._loop.create_future()
        self.connection = NativeConnection(
            endpoint, name, heartbeat_s, self.opened, self._flush_soon, read_properties
        )
        self._transport: asyncio.Transport | None = None
        self._read = memoryview(bytearray(READ_OCTETS))
        self._room: asyncio.Future[None] | None = None
        """There while the socket's buffer is full; done when it has room again."""
        self._flushing = False
        self._is_reading = True
        self._is_over = False
        """True once the socket is closed because the connection is."""
        self._ticking: asyncio.TimerHandle | None = None
        self.opened.add_done_callback(self._begin_ticking)

    @property
    def is_full(self) -> bool:
        """True while publishers have to wait for :meth:`room`."""
        return self._room is not None

    async def room(self) -> None:
        """Return when the socket has room again, or is gone."""
        if self._room is not None:
            await asyncio.shield(self._room)

    def hold(self) -> None:
        """The caller is going to :meth:`flush` in this turn: its end needs not."""
        self._flushing = True

    def flush(self) -> None:
        """Write what there is, and close the socket when the connection is over."""
        self._flushing = False
        transport = self._transport
        if transport is None:
            return
        if output := self.connection.take_output():
            transport.write(b"".join(output))
        if self.connection.is_closed and not self._is_over:
            self._is_over = True
            self._stop_ticking()
            self.resume_writing()  # what would be written now is refused: there's no need to wait
            # Before the close: asyncio's TLS transport, closed a second time, knows no size.
            unsent = transport.get_write_buffer_size()
            transport.close()
            if unsent:
                self._loop.call_later(LINGER_S, transport.abort)

    def pause_reading(self) -> None:
        """Leave what arrives in the socket. Idempotent."""
        if self._is_reading and self._transport is not None and not self._transport.is_closing():
            self._is_reading = False
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again. Idempotent."""
        if not self._is_reading and self._transport is not None:
            self._is_reading = True
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def abort(self) -> None:
        """Drop the socket without waiting for anything."""
        self.connection.lost(None)
        if self._transport is not None:
            self._transport.abort()

    # -- called by asyncio -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not by its class: uvloop's transports have one of their own.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_OCTETS_HIGH)
        self.flush()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._read

    def buffer_updated(self, nbytes: int) -> None:
        self.connection.receive(bytes(self._read[:nbytes]))

    def eof_received(self) -> None:
        """The default: asyncio closes, and :meth:`connection_lost` follows."""

    def connection_lost(self, error: Exception | None) -> None:
        self._stop_ticking()
        self.connection.lost(error)
        self.resume_writing()

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        room, self._room = self._room, None
        if room is not None:
            room.set_result(None)

    # -- inside ------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self.flush)

    def _begin_ticking(self, opened: asyncio.Future[None]) -> None:
        if not opened.cancelled() and opened.exception() is None:
            self._tick_later()

    def _tick_later(self) -> None:
        tick_s = self.connection.tick_s
        if tick_s is not None and not self.connection.is_closed:
            self._ticking = self._loop.call_later(tick_s, self._tick)

    def _tick(self) -> None:
        self.connection.tick(is_reading=self._is_reading)
        self._tick_later()

    def _stop_ticking(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
