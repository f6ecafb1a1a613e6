"""no_sniff: all answers of /api have the header, whoever made them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from reference_broker.http import build_app
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server(ServerConfig(amqp=Address("127.0.0.1", 0), http=None))
    await server.start()
    yield server
    await server.stop()


@pytest.mark.parametrize(
    ("path", "login", "status"),
    [
        ("/api/overview", ("guest", "guest"), 200),
        ("/api/overview", ("guest", "wrong"), 401),
        ("/api/queues/%2f/none", ("guest", "guest"), 404),
        ("/api/nothing", None, 404),
        ("/", None, 200),
    ],
)
async def test_the_header(
    server: Server, path: str, login: tuple[str, str] | None, status: int
) -> None:
    transport = httpx.ASGITransport(build_app(server), client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as api:
        answer = await api.get(path, auth=login)
    assert answer.status_code == status
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
