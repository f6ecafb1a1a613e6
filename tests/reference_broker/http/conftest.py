"""A broker with its management API in the test's own loop, and RabbitMQ's where there is one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import httpx
import pytest

from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server

LOGIN = ("guest", "guest")
FREE = Address("127.0.0.1", 0)

Eventually: TypeAlias = Callable[
    [Callable[[], Awaitable[Any]], Callable[[Any], bool]], Awaitable[Any]
]


@dataclass(frozen=True, slots=True)
class Place:
    """One broker: its AMQP URL, and a client of its management API that is logged in."""

    name: str
    url: str
    api: httpx.AsyncClient


@pytest.fixture
async def server(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Server]:
    server = Server(ServerConfig(amqp=FREE, http=FREE, data_dir=tmp_path / "data"))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture
async def api(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """The reference broker's management API."""
    async with client_of(f"http://127.0.0.1:{server.http_port}") as client:
        yield client


@pytest.fixture(params=["reference", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
async def place(
    request: pytest.FixtureRequest, anyio_backend: str, tmp_path: Path
) -> AsyncIterator[Place]:
    """Both brokers in turn."""
    if request.param == "rabbitmq":
        found = request.getfixturevalue("rabbitmq_broker")
        async with client_of(found.management_url) as client:
            yield Place("rabbitmq", found.url, client)
        return
    server = Server(ServerConfig(amqp=FREE, http=FREE, data_dir=tmp_path / "data"))
    await server.start()
    try:
        async with client_of(f"http://127.0.0.1:{server.http_port}") as client:
            yield Place("reference", f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/", client)
    finally:
        await server.stop()


@pytest.fixture
def eventually() -> Eventually:
    """Asks until the answer is right. RabbitMQ gathers its statistics every five seconds."""

    async def ask(fetch: Callable[[], Awaitable[Any]], good: Callable[[Any], bool]) -> Any:
        with anyio.fail_after(30):
            while not good(answer := await fetch()):
                with anyio.move_on_after(0.1):
                    await anyio.Event().wait()
        return answer

    return ask


def client_of(url: str) -> httpx.AsyncClient:
    # RabbitMQ may close a connection after a refusal, just when it is to be used again.
    return httpx.AsyncClient(
        limits=httpx.Limits(max_keepalive_connections=0),
        base_url=url,
        auth=LOGIN,
        trust_env=False,
        timeout=30,
        verify=False,  # plain HTTP: to read the authorities takes longer than most tests
    )
