"""Listings of what a broker says only in part."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mqkit_cli.ctl.main import run

ANSWERS = {
    "/api/overview": {"node": "rabbit@here"},
    "/api/vhosts/%2F": {"name": "/"},
    # RabbitMQ 3.10, in the first seconds of a consumer.
    "/api/consumers/%2F": [
        {"queue": {"name": "q"}, "channel_details": [], "consumer_tag": "c", "arguments": {}}
    ],
}


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the name that http.server asks for
        body = json.dumps(ANSWERS[self.path]).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def management_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_consumer_whose_channel_is_not_known_yet_is_listed(
    management_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MQKIT_MANAGEMENT_URL", management_url)
    monkeypatch.delenv("MQKIT_URL", raising=False)
    words = ("list_consumers", "-s", "--formatter", "json")
    assert run((*words, "queue_name", "channel_pid", "consumer_tag")) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"queue_name": "q", "channel_pid": None, "consumer_tag": "c"}
    ]
