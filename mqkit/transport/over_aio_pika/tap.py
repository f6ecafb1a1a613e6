"""A tap on what aiormq reads: the frames of channel 0 that it keeps to itself.

aiormq notes ``connection.blocked`` in an event that can be awaited but not observed, and reduces
``connection.close`` to an exception without its ids. It does take a transport factory, and that is
public; so the reader that it gets shows each control frame to us before aiormq sees it.

    +------+---------+------+ - - - - - - - +-----+
    | type | channel | size |    payload    | end |     aiormq reads 1, then 6, then size + 1 octets
    +------+---------+------+ - - - - - - - +-----+
       1        2       4         size         1
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from aiormq import spec
from aiormq.connection import TCPTransportFactory, TLSTransportFactory, TransportFactory
from pamqp import frame as codec
from pamqp.base import Frame
from pamqp.exceptions import UnmarshalingException
from yarl import URL

_LOG = logging.getLogger(__name__)

OnControlFrame = Callable[[Frame], None]

_CONTROL_METHOD = b"\x01\x00\x00"
_CONTENT_HEADER = b"\x02"
_FIRST_OCTETS = (b"\x01", b"A")
"""A broker begins with a method frame, or names the protocol version that it speaks: "AMQP"."""
_FLAGS_AT = 12
_ONLY_PERSISTENT = b"\x10\x00\x02"
"""Property flags for the delivery mode alone, and the delivery mode 2."""
_REST_OF_HEADER = 6


class TappedReader(asyncio.StreamReader):
    """Reads from another reader, and shows the method frames of channel 0 that pass."""

    def __init__(self, inner: asyncio.StreamReader, on_control_frame: OnControlFrame) -> None:
        super().__init__()
        self._inner = inner
        self._on_control_frame = on_control_frame
        self._header = b""
        self.has_begun = False
        """True if the peer has said something."""
        self.is_foreign = False
        """True if the peer does not speak AMQP."""
        self.heard = False
        """Set to True at each read."""
        self._resumed: asyncio.Event | None = None
        """There while reading is paused."""
        self._frame_every_s: float | None = None

    def at_eof(self) -> bool:
        return self._inner.at_eof()

    async def read(self, n: int = -1) -> bytes:
        return await self._inner.read(n)

    def pause(self, frame_every_s: float | None) -> None:
        """Begin no frame until :meth:`resume`, but for one in each such time."""
        if self._resumed is None:
            self._resumed = asyncio.Event()
            self._frame_every_s = frame_every_s

    def resume(self) -> None:
        """Read as before. Idempotent."""
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            resumed.set()

    @property
    def is_paused(self) -> bool:
        return self._resumed is not None

    async def _turn(self, resumed: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._frame_every_s):
                await resumed.wait()
        except TimeoutError:
            return

    async def readexactly(self, n: int) -> bytes:
        if n == 1 and self._resumed is not None and not self._header:
            await self._turn(self._resumed)
        data = await self._inner.readexactly(n)
        self.heard = True
        if n == 1:
            self._check_first(data)
            self._header = data
        elif n == _REST_OF_HEADER and len(self._header) == 1:
            self._header += data
        else:
            if self._header.startswith(_CONTROL_METHOD):
                self._show(self._header + data)
            elif self._header.startswith(_CONTENT_HEADER):
                data = _readable(self._header, data)
            self._header = b""
        return data

    def _check_first(self, octet: bytes) -> None:
        """Refuse a peer that does not speak AMQP at its first octet: its next ones are no frame
        size, and waiting for so many would never end."""
        if not self.has_begun and octet not in _FIRST_OCTETS:
            self.is_foreign = True
            raise ConnectionError("this is not AMQP")
        self.has_begun = True

    def _show(self, octets: bytes) -> None:
        _, _, frame = codec.unmarshal(octets)
        if isinstance(frame, Frame):
            self._on_control_frame(frame)


def _readable(frame_header: bytes, payload: bytes) -> bytes:
    """A content header that pamqp can read: properties that it can't are left out.

    It wants UTF-8 in every short string; AMQP does not, and nor do brokers. One message with a
    Latin-1 id would end the connection, come again on the next one, and end that one too.

        +----------+----------+-----------+---------+ - - - - - -+
        | class  2 | weight 2 | size    8 | flags 2 | properties |
        +----------+----------+-----------+---------+ - - - - - -+
    """
    try:
        payload[_FLAGS_AT + 2 : -1].decode()
    except UnicodeDecodeError:  # or it is a number with high octets: pamqp knows
        try:
            codec.unmarshal(frame_header + payload)
        except UnmarshalingException as error:
            _LOG.warning("the properties of a message can't be read and are left out: %s", error)
            end = _FLAGS_AT + len(_ONLY_PERSISTENT)
            return payload[:_FLAGS_AT] + _ONLY_PERSISTENT + payload[end:]
    return payload


class TappedTransportFactory(TransportFactory):
    """Opens the socket as aiormq would, TLS included, and taps it. Good for one connection."""

    def __init__(self, *, tls: bool, server_name: str | None = None) -> None:
        self._server_name = {} if server_name is None else {"server_hostname": server_name}
        self._factory: TransportFactory = TLSTransportFactory() if tls else TCPTransportFactory()
        self._reader: TappedReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listeners: list[OnControlFrame] = []
        self.close_frame: spec.Connection.Close | None = None
        """The broker's ``connection.close``, once it has sent one."""
        self.blocked_reason: str | None = None
        """Why the broker blocks the connection; ``None`` while it does not."""

    async def create(
        self, url: URL, **kwargs: Any
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, self._writer = await self._factory.create(url, **kwargs, **self._server_name)
        self._reader = TappedReader(reader, self._observe)
        return self._reader, self._writer

    @property
    def is_foreign(self) -> bool:
        """True if the peer does not speak AMQP."""
        return self._reader is not None and self._reader.is_foreign

    @property
    def has_heard(self) -> bool:
        """True if the peer has said something, of AMQP or not."""
        return self._reader is not None and self._reader.has_begun

    def take_heard(self) -> bool:
        """True if anything was read since the last call."""
        reader = self._reader
        if reader is not None and reader.is_paused:
            return True  # nobody listens
        if reader is None or not reader.heard:
            return False
        reader.heard = False
        return True

    def listen(self, listener: OnControlFrame) -> None:
        """Call ``listener`` with each control frame from now on."""
        self._listeners.append(listener)

    def pause_reading(self, heartbeat_s: int) -> None:
        """Leave what arrives in the socket, but for a frame in each heartbeat interval."""
        if self._reader is not None:
            self._reader.pause(heartbeat_s or None)

    def resume_reading(self) -> None:
        """Read as before. Idempotent."""
        if self._reader is not None:
            self._reader.resume()

    def abort(self) -> None:
        """Drop the socket without a word."""
        if self._writer is not None:
            self._writer.transport.abort()

    def _observe(self, frame: Frame) -> None:
        if isinstance(frame, spec.Connection.Close):
            self.close_frame = frame
        elif isinstance(frame, spec.Connection.Blocked):
            self.blocked_reason = frame.reason or "no reason given"
        elif isinstance(frame, spec.Connection.Unblocked):
            self.blocked_reason = None
        for listener in self._listeners:
            listener(frame)
