"""The broker's end of a link: a transport as an event loop has it, and the runtime's own glue
between that and a connection (:mod:`reference_broker.runtime.net.connection_protocol`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from reference_broker.core.message.content_frames import Piece
from reference_broker.runtime.net.connection_protocol import ConnectionHost, ConnectionProtocol
from reference_broker.runtime.net.paced_output import PacedOutput
from reference_broker.runtime.process.timers import Timer
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.network import Link
from reference_broker.simulation.machine.stamps import Part, Stamps

SOCKET_BUFFER_BYTES = 16 * 1024
"""Bytes that a socket takes before it asks the broker to wait: little, so that slow readers
matter."""

_PORTS = 16_384
_FIRST_PORT = 49_152

Wiretap = Callable[[Link, bytes], None]
"""Called with the bytes that the broker sends, at the end of the input that made it do so."""


class TappedOutput(PacedOutput):
    """The output of one connection, of which somebody hears what is sent. What waits here for its
    turn is on its way: if the process is gone, so is that."""

    __slots__ = ("_tap",)

    def __init__(
        self,
        transport: asyncio.WriteTransport,
        later: Callable[[], None],
        tap: Callable[[bytes], None],
    ) -> None:
        super().__init__(transport, later)
        self._tap = tap

    def write(self, pieces: list[Piece], size: int) -> None:
        self._tap(b"".join(pieces))
        super().write(pieces, size)


class SocketLoop:
    """As much of an event loop as the glue asks for."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock

    def stamp(self) -> int:
        """The stamp of this moment."""
        return self._clock.stamp()

    def call_soon(self, callback: Callable[[], None], /) -> Timer:
        return self._clock.call_later(0.0, callback)

    def call_later(self, seconds: float, callback: Callable[[], None], /) -> Timer:
        return self._clock.call_later(seconds, callback)


class SocketProtocol(ConnectionProtocol):
    """The glue, but for errors of the broker: here each is a finding, and goes on to whoever runs
    this. What a turn hands out is stamped at its end in ``stamps``, before the socket takes it."""

    def __init__(
        self, host: ConnectionHost, loop: SocketLoop, tap: Callable[[bytes], None], stamps: Stamps
    ) -> None:
        super().__init__(host, loop)
        self._tap = tap
        self._stamp = loop.stamp
        self._stamps = stamps
        self._stamped_bytes = 0

    def flush(self) -> None:
        self._stamp_output()
        super().flush()

    def _stamp_output(self) -> None:
        """Stamp what the connection has handed out since the last time. It may wait there until its
        socket takes more, and in portions then."""
        handed_out_bytes = self.connection.sent_bytes + self.connection.output_size
        if handed_out_bytes > self._stamped_bytes:
            self._stamps.put(Part(handed_out_bytes - self._stamped_bytes, self._stamp()))
            self._stamped_bytes = handed_out_bytes

    def _paced(self, transport: asyncio.Transport) -> PacedOutput:
        return TappedOutput(transport, self._write_later, self._tap)

    def _guarded(self, step: Callable[[], None]) -> None:
        step()


class SimulatedSocket(asyncio.Transport):
    """The transport of a link. Its own buffer has no limit but :data:`SOCKET_BUFFER_BYTES`, and is
    what the link has on its way."""

    def __init__(self, link: Link, wiretap: Wiretap) -> None:
        port = _FIRST_PORT + link.number % _PORTS
        super().__init__({"peername": ("127.0.0.1", port), "sockname": ("127.0.0.1", 5672)})
        self._link = link
        self._wiretap = wiretap
        self._stamps = Stamps()
        """Of all that is still to be written here."""
        self._full = False
        self._reading = True
        self._closing = False
        self._lost = False

    def begin(self, host: ConnectionHost, loop: SocketLoop) -> None:
        """Serve a client that has just connected."""
        self._link.to_client.moved = self._moved
        tap = partial(self._wiretap, self._link)
        self._protocol = SocketProtocol(host, loop, tap, self._stamps)
        self._protocol.connection_made(self)

    def received(self, data: bytes) -> None:
        """Bytes arrived."""
        if not self._closing:
            self._protocol.data_received(data)

    def ended(self) -> None:
        """The client has closed its end, or the link is gone: so is what was not sent yet."""
        self._closing = True
        self._lose()

    def vanish(self, *, finish: bool) -> None:
        """The process is gone: nobody is called any more. What it had handed to its socket arrives
        all, if it did ``finish``, and otherwise some of it may."""
        self._closing = self._lost = True
        self._link.to_client.moved = None
        if finish:
            self._link.to_broker.close()
            self._link.to_client.finish()
        else:
            self._link.broker_gone()

    # The transport

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Keep the limit that it has."""

    def get_write_buffer_size(self) -> int:
        return self._link.to_client.waiting_bytes

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._link.to_client.send(bytes(data), self._stamps.take(len(data)))
        if not self._full and self.get_write_buffer_size() > SOCKET_BUFFER_BYTES:
            self._full = True
            self._protocol.pause_writing()

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        self._reading = False
        self._link.to_broker.hold()

    def resume_reading(self) -> None:
        self._reading = True
        self._link.to_broker.release()

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        """Send what was handed over, read nothing more, and call back when all of it is sent."""
        if not self._closing:
            self._closing = True
            self._link.to_broker.close()
            self._link.to_client.finish()
            self._lose_if_sent()

    def abort(self) -> None:
        if not self._lost:
            self._closing = True
            self._link.broker_gone()
            self._lose()

    def _moved(self) -> None:
        """The client has read something."""
        if self._closing:
            self._lose_if_sent()
        elif self._full and self.get_write_buffer_size() <= SOCKET_BUFFER_BYTES // 2:
            self._full = False
            self._protocol.resume_writing()

    def _lose_if_sent(self) -> None:
        if not self.get_write_buffer_size():
            self._lose()

    def _lose(self) -> None:
        if not self._lost:
            self._lost = True
            self._protocol.connection_lost(None)
