"""http_server: a guest that is stopped, and started once."""

from __future__ import annotations

import subprocess
import sys

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from reference_broker.http.serving import http_server
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


async def test_a_stop_waits_for_no_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "DATE_EVERY_S", 3600)
    server = HttpServer(hello)
    await server.start()
    with anyio.fail_after(30):
        await server.stop()


async def test_the_date_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "DATE_EVERY_S", 0.001)
    server = HttpServer(hello)
    await server.start()
    protocol = server.protocol()
    assert isinstance(protocol, TimedProtocol)
    state = protocol.server_state
    first = state.default_headers
    assert [name for name, _ in first] == [b"date"]
    with anyio.fail_after(30):
        while state.default_headers is first:
            with anyio.move_on_after(0.01):
                await anyio.Event().wait()
    await server.stop()


def test_no_answer_imports_anything() -> None:
    """The first long list was a turn of 27 ms: Starlette's import of its way to wait for two."""
    check = """
import asyncio, sys
from starlette.responses import StreamingResponse
from reference_broker.http.serving.http_server import HttpServer

async def pieces():
    yield b"x"

async def never():
    await asyncio.Event().wait()

async def nothing(message):
    pass

async def main():
    server = HttpServer(None)
    await server.start()
    known = set(sys.modules)
    await StreamingResponse(pieces())({"type": "http"}, never, nothing)
    print(sorted(set(sys.modules) - known))
    await server.stop()

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
