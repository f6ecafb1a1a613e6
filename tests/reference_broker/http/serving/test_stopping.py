"""stopping: a request that is cancelled has an answer, and no trace in the log."""

from __future__ import annotations

import asyncio
import socket

import pytest
from starlette.types import Message, Receive, Scope, Send

from reference_broker.http.serving import http_server
from reference_broker.http.serving.http_server import HttpServer

pytestmark = pytest.mark.anyio


async def _never(scope: Scope, receive: Receive, send: Send) -> None:
    await asyncio.Event().wait()


async def _half(scope: Scope, receive: Receive, send: Send) -> None:
    head = [(b"content-length", b"10")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    body: Message = {"type": "http.response.body", "body": b"half ", "more_body": True}
    await send(body)
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (_never, [b"HTTP/1.1 503", b'{"error":"stopping","reason":"the broker is stopping;']),
        (_half, [b"HTTP/1.1 200", b"half "]),
    ],
)
async def test_a_stop_answers_what_still_waits(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    app: object,
    said: list[bytes],
) -> None:
    monkeypatch.setattr(http_server, "CLOSE_TIMEOUT_S", 0.1)
    server = HttpServer(app)  # type: ignore[arg-type]
    await server.start()
    near, far = socket.socketpair()
    loop = asyncio.get_running_loop()
    await loop.connect_accepted_socket(server.protocol, near)
    reader, writer = await asyncio.open_connection(sock=far)
    writer.write(b"PUT /api/vhosts/v HTTP/1.1\r\nhost: localhost\r\n\r\n")
    await asyncio.sleep(0)
    answering = asyncio.create_task(reader.read())
    await server.stop()
    answer = await answering
    for each in said:
        assert each in answer
    assert "Traceback" not in caplog.text
    assert "CancelledError" not in caplog.text
    writer.close()
