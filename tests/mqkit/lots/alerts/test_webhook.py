"""A webhook: three tries, no redirects, its URL in no word that is said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mqkit.errors import ConfigurationError
from mqkit.lots.alerts import webhook
from mqkit.lots.alerts.alert import Alert, AlertKind
from mqkit.lots.alerts.webhook import TRIES, Webhook, WebhookFailed, check_webhook
from mqkit.timing.clock import SYSTEM_CLOCK

pytestmark = pytest.mark.anyio
ALERT = Alert(AlertKind.DEPTH, "q", datetime(2026, 11, 24, tzinfo=UTC), False, 7, 5, "7 messages")
SECRET = "s3cret"


class Hook(BaseHTTPRequestHandler):
    """Answers with the statuses of ``server.statuses`` in turn; 0 hangs until the end."""

    server: HookServer

    def do_POST(self) -> None:  # the name that http.server asks for
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append((self.path, json.loads(body)))
        self.server.arrived.release()
        status = self.server.statuses.pop(0)
        if not status:
            self.server.over.wait(30)
            return
        self.send_response(status)
        self.send_header("location", "/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class HookServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hook)
        self.statuses: list[int] = []
        self.taken: list[tuple[str, object]] = []
        self.over = threading.Event()
        self.arrived = threading.Semaphore(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{SECRET}"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "FIRST_PAUSE_S", 0.0)


@pytest.fixture
def server() -> Iterator[HookServer]:
    with HookServer() as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.over.set()
        found.shutdown()
        thread.join()


async def test_it_is_posted_once_where_it_is_taken(server: HookServer) -> None:
    server.statuses = [204]
    await Webhook(server.url, SYSTEM_CLOCK).post(ALERT)
    assert server.taken == [(f"/{SECRET}", ALERT.to_dict())]


@pytest.mark.parametrize("statuses", [[500, 302, 200], [503, 404, 301]])
async def test_three_tries_and_no_redirect(server: HookServer, statuses: list[int]) -> None:
    server.statuses = list(statuses)
    clock = SYSTEM_CLOCK
    hook = Webhook(server.url, clock)
    assert SECRET not in repr(hook)
    if statuses[-1] == 200:
        await hook.post(ALERT)
    else:
        with pytest.raises(WebhookFailed) as error:
            await hook.post(ALERT)
        assert SECRET not in str(error.value)
    assert [path for path, _ in server.taken] == [f"/{SECRET}"] * TRIES


@pytest.mark.parametrize("url", ["", "ftp://x/", "https://user:pass@host/", "http://:80", "x"])
def test_what_is_no_webhook_is_refused_without_its_url(url: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        check_webhook(url)
    assert not url or url not in str(error.value)


async def test_one_that_hangs_has_an_end(
    server: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 1.0)  # a busy machine takes its time to connect
    server.statuses = [0, 0, 0]
    with pytest.raises(WebhookFailed, match="no answer within"):
        await Webhook(server.url, SYSTEM_CLOCK).post(ALERT)
    # The server's threads may be behind the client, who has gone.
    assert all(server.arrived.acquire(timeout=20) for _ in range(TRIES))
    assert len(server.taken) == TRIES
