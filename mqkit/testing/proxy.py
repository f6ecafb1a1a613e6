"""A TCP proxy that stands between a client and a broker and misbehaves when told to.

    async with FaultyProxy.before(broker_url) as proxy:
        app = mqkit.App(url=proxy.url)
        ...
        proxy.cut()                       # every connection is gone at once
        proxy.cut_before_confirm()        # the next confirm never arrives: the link is cut instead
        proxy.block("low on memory")      # connection.blocked, as a broker with an alarm sends it
        proxy.stall()                     # nothing passes, nothing is closed

It forwards bytes unread towards the broker; towards the client it forwards whole frames, so that
it knows what it holds back and where it may put in a frame of its own:

    +------+---------+------+ - - - - - - - +-----+
    | type | channel | size |    payload    | 206 |
    +------+---------+------+ - - - - - - - +-----+
       1        2       4         size         1
"""

from __future__ import annotations

import asyncio
import struct
from types import TracebackType
from urllib.parse import urlsplit

from mqkit.url import parse

_HEADER = struct.Struct(">BHI")
_END = b"\xce"
_METHOD_FRAME = 1
_BASIC_ACK = struct.pack(">HH", 60, 80)
_BASIC_NACK = struct.pack(">HH", 60, 120)
_BLOCKED = struct.pack(">HH", 10, 60)
_UNBLOCKED = struct.pack(">HH", 10, 61)
_READ_OCTETS = 64 * 1024


class FaultyProxy:
    """Listens on a free port of 127.0.0.1 while entered. For the event loop that it was entered in.

    Every verb acts at once on the connections that are open, and returns nothing; what it breaks
    stays broken until the opposite verb is called. New connections work unless refused.
    """

    def __init__(self, host: str, port: int) -> None:
        self._broker = (host, port)
        self._url = ""
        self._server: asyncio.Server | None = None
        self._links: list[_Link] = []
        self._moving = asyncio.Event()
        self._moving.set()
        self._refusing = False
        self._confirms_left: int | None = None
        self.accepted = 0
        """The number of connections that clients have opened so far."""
        self.host = "127.0.0.1"
        self.port = 0

    @classmethod
    def before(cls, url: str) -> FaultyProxy:
        """A proxy before the broker of an AMQP URL; :attr:`url` is then the same through it."""
        endpoint = parse(url)
        proxy = cls(endpoint.host, endpoint.port)
        proxy._url = url
        return proxy

    @property
    def url(self) -> str:
        """The URL that :meth:`before` was given, leading through the proxy."""
        parts = urlsplit(self._url)
        userinfo, at, _ = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"{userinfo}{at}{self.host}:{self.port}").geturl()

    @property
    def connections(self) -> int:
        """The number of connections that are open through the proxy now."""
        return len(self._links)

    async def __aenter__(self) -> FaultyProxy:
        self._server = await asyncio.start_server(self._serve, self.host, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        links = tuple(self._links)
        self.cut()
        for link in links:
            await link.ended.wait()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Reset every connection, on both sides."""
        for link in tuple(self._links):
            link.cut()

    def cut_before_confirm(self, after: int = 0) -> None:
        """Let ``after`` more confirm frames pass, then cut instead of forwarding the next one.

        The broker has the message then, and the client can't know. Works once; frames may be
        ``multiple``, so count frames and not messages.
        """
        self._confirms_left = after

    def stall(self) -> None:
        """Forward nothing, in either direction, until :meth:`resume`. Connections stay open."""
        self._moving.clear()

    def resume(self) -> None:
        """Forward again, what was held back first."""
        self._moving.set()

    def refuse(self) -> None:
        """Close new connections as soon as they are made, until :meth:`accept`."""
        self._refusing = True

    def accept(self) -> None:
        """Take new connections again."""
        self._refusing = False

    def block(self, reason: str = "low on memory") -> None:
        """Tell every client ``connection.blocked``. The broker goes on as before."""
        text = reason.encode()
        self._inject(_BLOCKED + bytes([len(text)]) + text)

    def unblock(self) -> None:
        """Tell every client ``connection.unblocked``."""
        self._inject(_UNBLOCKED)

    def _inject(self, method: bytes) -> None:
        frame = _HEADER.pack(_METHOD_FRAME, 0, len(method)) + method + _END
        for link in self._links:
            link.to_client.write(frame)

    def _withholds(self, frame: bytes) -> bool:
        """True for the confirm that must not pass."""
        if self._confirms_left is None or frame[0] != _METHOD_FRAME:
            return False
        if frame[7:11] not in (_BASIC_ACK, _BASIC_NACK):
            return False
        self._confirms_left -= 1
        if self._confirms_left >= 0:
            return False
        self._confirms_left = None
        return True

    async def _serve(
        self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        self.accepted += 1
        if self._refusing:
            to_client.transport.abort()
            return
        try:
            from_broker, to_broker = await asyncio.open_connection(*self._broker)
        except OSError:
            to_client.transport.abort()
            return
        link = _Link(to_client, to_broker)
        self._links.append(link)
        outward = asyncio.create_task(self._forward_octets(from_client, to_broker))
        inward = asyncio.create_task(self._forward_frames(from_broker, to_client))
        try:
            await asyncio.wait((outward, inward), return_when=asyncio.FIRST_COMPLETED)
        finally:
            outward.cancel()
            inward.cancel()
            await asyncio.gather(outward, inward, return_exceptions=True)
            self._links.remove(link)
            link.cut()
            link.ended.set()

    async def _forward_octets(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while octets := await reader.read(_READ_OCTETS):
            await self._moving.wait()
            writer.write(octets)
            await writer.drain()

    async def _forward_frames(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            header = await reader.readexactly(_HEADER.size)
            if header.startswith(b"AMQP"):  # the broker speaks another version, and will close
                writer.write(header + await reader.read())
                return
            frame = header + await reader.readexactly(_HEADER.unpack(header)[2] + len(_END))
            await self._moving.wait()
            if self._withholds(frame):
                self.cut()
                return
            writer.write(frame)
            await writer.drain()


class _Link:
    """The two sockets of one connection."""

    def __init__(self, to_client: asyncio.StreamWriter, to_broker: asyncio.StreamWriter) -> None:
        self.to_client = to_client
        self.to_broker = to_broker
        self.ended = asyncio.Event()

    def cut(self) -> None:
        self.to_client.transport.abort()
        self.to_broker.transport.abort()
