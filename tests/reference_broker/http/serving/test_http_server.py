"""http_server: a guest that is stopped, and started once."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from reference_broker.http.serving.http_server import HttpServer
from reference_broker.http.serving.timed_protocol import TimedProtocol

pytestmark = pytest.mark.anyio


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("hello")(scope, receive, send)


async def test_a_stop_without_a_start() -> None:
    await HttpServer(hello).stop()


async def test_protocols_for_sockets_of_somebody_else() -> None:
    server = HttpServer(hello)
    await server.start()
    assert isinstance(server.protocol(), TimedProtocol)
    await server.stop()
    await server.stop()
