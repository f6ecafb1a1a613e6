"""A TCP proxy that can be severed from what is behind it, as a network does it."""

from __future__ import annotations

import asyncio
from types import TracebackType

from reference_broker.runtime.net.address import Address

READ_OCTETS = 64 * 1024


class SeverableProxy:
    """Listens on a free port of 127.0.0.1 while entered, and passes connections on to ``to``."""

    def __init__(self, to: Address) -> None:
        self.address = Address("127.0.0.1", 0)
        self._to = to
        self._whole = asyncio.Event()
        self._whole.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> SeverableProxy:
        self._server = await asyncio.start_server(self._serve, self.address.host, 0)
        self.address = self.address._replace(port=self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.reset()
        self.heal()
        await asyncio.gather(*self._tasks)

    def sever(self) -> None:
        """From now on nothing passes, and nobody is told: what is open stays open."""
        self._whole.clear()

    def reset(self) -> None:
        """Reset all connections; :meth:`sever` first, or there are others at once."""
        for each in tuple(self._writers):
            each.transport.abort()

    def heal(self) -> None:
        """Pass on what was held back, and all that comes."""
        self._whole.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._whole.wait()
            behind_reader, behind = await asyncio.open_connection(self._to.host, self._to.port)
            self._writers.add(behind)
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._pass(reader, behind))
                    both.create_task(self._pass(behind_reader, writer))
            finally:
                behind.transport.abort()
                self._writers.discard(behind)
        except* OSError:
            pass  # whoever was reset finds out by itself
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while octets := await reader.read(READ_OCTETS):
            await self._whole.wait()
            writer.write(octets)
            await writer.drain()
        raise ConnectionResetError  # one way that has ended ends the other, too
