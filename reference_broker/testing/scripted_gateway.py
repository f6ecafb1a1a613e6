"""A server in the place of etcd's gateway, which answers as a test says: what no etcd does, or does
too seldom to wait for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, NamedTuple

from reference_broker.runtime.etcd.config import Endpoint

WAIT_S = 30.0

HANG = b""
"""As an answer: none, and the connection stays."""
BREAK: Final = None
"""As an answer: none, and the connection is closed."""


class Request(NamedTuple):
    """A request that came."""

    path: str
    token: str
    body: Any


Answer = bytes | None
Script = Callable[[Request], Answer]


def http_answer(body: object, status: int = 200) -> bytes:
    """A whole answer: JSON, or octets as they are."""
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%b" % (status, len(octets), octets)


class ScriptedGateway:
    """Listens on a free port of 127.0.0.1 for the time of the block. ``requests`` has all that
    came."""

    endpoint: Endpoint

    def __init__(self, script: Script) -> None:
        self.requests: list[Request] = []
        self._script = script
        self._writers: list[asyncio.StreamWriter] = []
        self._came = asyncio.Condition()

    async def __aenter__(self) -> ScriptedGateway:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.endpoint = Endpoint("127.0.0.1", self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        self.break_all()
        await self._server.wait_closed()

    async def asked(self, times: int) -> None:
        """Return when so many requests have come in all. Raises ``TimeoutError``."""
        async with asyncio.timeout(WAIT_S), self._came:
            await self._came.wait_for(lambda: len(self.requests) >= times)

    def break_all(self) -> None:
        """Close all connections, whatever is under way on them."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            while True:
                answer = self._script(await self._request(reader))
                if answer is None:
                    writer.transport.abort()
                    return
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> Request:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = dict(line.split(": ", 1) for line in lines if line)
        body = await reader.readexactly(int(headers["Content-Length"]))
        request = Request(first.split()[1], headers.get("Authorization", ""), json.loads(body))
        async with self._came:
            self.requests.append(request)
            self._came.notify_all()
        return request
