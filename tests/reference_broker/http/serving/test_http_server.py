"""http_server: a guest that is stopped, and started once."""

from __future__ import annotations

import subprocess
import sys

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
