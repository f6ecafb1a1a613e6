"""A TCP proxy before the broker that breaks links in the ways that networks do.

Plain sockets on the event loop. What a verb does to a link it does to those that are open now; a
connection that is made later is sound, so that what an app does about a dead link can be seen.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

from interop.chaos.confirm_watch import ConfirmWatch
from interop.chaos.facts import FactsFile

READ_OCTETS = 64 * 1024
TRICKLE_OCTETS = 24
TRICKLE_INTERVAL_S = 0.02
CONNECT_TIMEOUT_S = 2.0
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: a close resets the connection."""


class Direction:
    """One way through a link."""

    def __init__(
        self, source: socket.socket, sink: socket.socket, watch: Callable[[bytes], None]
    ) -> None:
        self._source = source
        self._sink = sink
        self._watch = watch
        self._moving = asyncio.Event()
        self._moving.set()
        self._trickles = False
        self._is_shut = False

    def hold(self) -> None:
        self._moving.clear()

    def trickle(self) -> None:
        self._trickles = True

    def release(self) -> None:
        self._trickles = False
        self._moving.set()

    def shut(self) -> None:
        """The sink reads the end of the stream; what comes for it is thrown away from now on."""
        if not self._is_shut:
            self._is_shut = True
            try:
                self._sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it is gone altogether

    async def run(self) -> bool:
        """Forward until the source ends, and let the sink read that. False where one of them was
        reset."""
        loop = asyncio.get_running_loop()
        try:
            while octets := await loop.sock_recv(self._source, READ_OCTETS):
                await self._forward(octets)
        except OSError:
            return False
        await self._moving.wait()
        self.shut()
        return True

    async def _forward(self, octets: bytes) -> None:
        while octets and not self._is_shut:
            await self._moving.wait()
            size = TRICKLE_OCTETS if self._trickles else len(octets)
            part, octets = octets[:size], octets[size:]
            if self._trickles:
                await asyncio.sleep(TRICKLE_INTERVAL_S)
            if not self._is_shut:
                self._watch(part)
                await asyncio.get_running_loop().sock_sendall(self._sink, part)


class Link:
    """A connection of a client, and the one to the broker that belongs to it."""

    def __init__(self, client: socket.socket, broker: socket.socket, watch: ConfirmWatch) -> None:
        self._sockets = (client, broker)
        self._watch = watch
        self.to_broker = Direction(client, broker, watch.client_sent)
        self.to_client = Direction(broker, client, watch.broker_sent)
        self._tasks: list[asyncio.Task[bool]] = []

    @property
    def is_publishing(self) -> bool:
        """True for a connection that an app publishes on."""
        return self._watch.is_publishing

    @property
    def directions(self) -> tuple[Direction, Direction]:
        return self.to_broker, self.to_client

    async def run(self) -> None:
        """Forward both ways until both have ended, one was reset, or :meth:`cut`."""
        self._tasks = [asyncio.create_task(each.run()) for each in self.directions]
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            if all(not task.cancelled() and task.result() for task in done):
                await asyncio.wait(self._tasks)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for each in self._sockets:
                each.close()

    def cut(self) -> None:
        """Reset both ends."""
        for each in self._sockets:
            try:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            except OSError:
                pass
        for task in self._tasks:
            task.cancel()


class Proxy:
    """Listens on a free port of 127.0.0.1 from :meth:`start` to :meth:`stop`. ``broker`` may be
    changed when the broker has another address after a restart."""

    def __init__(self, broker: tuple[str, int], facts: FactsFile) -> None:
        self.broker = broker
        self.links: list[Link] = []
        self.without_links = asyncio.Event()
        """Set while no connection is open."""
        self.without_links.set()
        self._facts = facts
        self._refuses = False
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The AMQP URL of the broker, through here."""
        assert self._listener is not None
        return f"amqp://guest:guest@127.0.0.1:{self._listener.getsockname()[1]}/"

    async def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._accepting = asyncio.create_task(self._accept(self._listener))

    async def stop(self) -> None:
        """Cut what is open, and listen no more."""
        assert self._listener is not None
        assert self._accepting is not None
        self._accepting.cancel()
        await asyncio.gather(self._accepting, return_exceptions=True)
        self._listener.close()
        self.cut()
        for task in tuple(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def cut(self) -> None:
        """Reset every connection."""
        for link in tuple(self.links):
            link.cut()

    def refuse(self) -> None:
        """Close new connections at once, until :meth:`accept`."""
        self._refuses = True

    def accept(self) -> None:
        self._refuses = False

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client, _ = await loop.sock_accept(listener)
            task = asyncio.create_task(self._serve(client))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def _serve(self, client: socket.socket) -> None:
        client.setblocking(False)
        broker = socket.socket()
        broker.setblocking(False)
        try:
            if self._refuses:
                raise ConnectionRefusedError
            for each in (client, broker):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await asyncio.get_running_loop().sock_connect(broker, self.broker)
        except BaseException as error:
            client.close()
            broker.close()
            if isinstance(error, OSError):
                return
            raise
        link = Link(client, broker, ConfirmWatch(self._facts))
        self.links.append(link)
        self.without_links.clear()
        try:
            await link.run()
        finally:
            self.links.remove(link)
            if not self.links:
                self.without_links.set()
