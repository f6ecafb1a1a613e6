"""A broker that answers the management API with nonsense: one line that says so, in time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from mqkit.errors import ConfigurationError, DeadlineExceeded
from mqkit.topology import take_snapshot
from mqkit.topology.live import management

pytestmark = pytest.mark.anyio

STRANGE = "answers, but not as RabbitMQ's management API does"
ROW = {"name": "q", "vhost": "/", "arguments": "no", "durable": "maybe", "type": 7}


class Answer(BaseHTTPRequestHandler):
    """Gives ``server.body`` with ``server.status`` to every question; ``None`` hangs."""

    server: NonsenseServer

    def do_GET(self) -> None:  # the name that http.server asks for
        if self.server.body is None:
            self.server.over.wait(30)
            return
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(self.server.body)))
        self.send_header("location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class NonsenseServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.body: bytes | None = b""
        self.status = 200
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://guest:geheim@127.0.0.1:{self.server_port}"


@pytest.fixture
def server() -> Iterator[NonsenseServer]:
    with NonsenseServer() as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.over.set()
        found.shutdown()
        thread.join()


async def refusal(server: NonsenseServer, wanted: type[Exception], timeout_s: float = 20) -> str:
    with pytest.raises(wanted) as raised:
        await take_snapshot(server.url, "/", timeout_s=timeout_s)
    said = str(raised.value)
    assert "geheim" not in said
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>hello</html>", b"null", b"{}", b"[]", b"17", b"[1]", b"[NaN]", b"\xff\xfe"),
        *(b"[" * 100_000, json.dumps([ROW]).encode(), json.dumps([{"name": 5}]).encode()),
    ],
    ids=lambda body: repr(body[:20]),
)
async def test_nonsense_is_one_line(server: NonsenseServer, body: bytes) -> None:
    server.body = body
    assert STRANGE in await refusal(server, ConfigurationError)


@pytest.mark.parametrize("status", [302, 500, 204])
async def test_a_status_is_named_and_no_redirect_is_followed(
    server: NonsenseServer, status: int
) -> None:
    server.status = status
    assert f"HTTP status {status}" in await refusal(server, ConfigurationError)


async def test_an_answer_without_end_has_one(
    server: NonsenseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(management, "MAX_ANSWER_BYTES", 1000)
    server.body = b" " * 1001
    assert "answers with more than 1000 bytes" in await refusal(server, ConfigurationError)


async def test_one_that_hangs_has_an_end(server: NonsenseServer) -> None:
    server.body = None
    assert "waited 0.2 s for the management API" in await refusal(server, DeadlineExceeded, 0.2)


async def test_what_does_not_speak_http(reference_broker: Any) -> None:
    amqp = reference_broker.url.replace("amqp://", "http://").rstrip("/")
    with pytest.raises(ConfigurationError, match="does not speak HTTP"):
        await take_snapshot(amqp, "/", timeout_s=20)
