"""The table of paths: names are percent-decoded once, and a node is paused only by its host."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from reference_broker.http.serving.app import COMPRESSED_FROM, build_app
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def client_of(app: object) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
    async with httpx.AsyncClient(
        transport=transport, base_url="http://broker", auth=("guest", "guest")
    ) as client:
        yield client


async def test_a_name_is_one_segment_whatever_is_in_it(server: Server) -> None:
    async with client_of(build_app(server)) as api:
        made = await api.put("/api/queues/%2F/a%2Fb%2525", json={"durable": True})
        assert made.status_code == 201
        names = [row["name"] for row in (await api.get("/api/queues/%2F")).json()]
        assert names == ["a/b%25"]


async def test_without_a_node_host_nobody_can_pause_the_broker(server: Server) -> None:
    path = f"/api/nodes/{server.broker.node_name}/running"
    async with client_of(build_app(server)) as api:
        assert (await api.put(path, json={"running": True})).status_code in (404, 405)
    async with client_of(build_app(server, None, server)) as api:
        assert (await api.put(path, json={"running": True})).status_code == 204


async def test_a_large_answer_is_compressed_for_a_client_that_takes_it(server: Server) -> None:
    async with client_of(build_app(server)) as api:
        overview = await api.get("/api/overview", headers={"accept-encoding": "gzip"})
        assert len(overview.content) > COMPRESSED_FROM
        assert overview.headers["content-encoding"] == "gzip"
        plain = await api.get("/api/overview", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
