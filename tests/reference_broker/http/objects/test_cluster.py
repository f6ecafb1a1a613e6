"""Paths by which tools ask for a cluster and its plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server

FREE = Address("127.0.0.1", 0)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", ["shovels", "shovels/%2F", "federation-links"])
async def test_lists_of_what_is_not_there(api: httpx.AsyncClient, path: str) -> None:
    assert (await api.get(f"/api/{path}")).json() == []
    assert (await api.get("/api/shovels/no.such")).status_code == 404


async def test_names(place: Any) -> None:
    overview = (await place.api.get("/api/overview")).json()
    assert (await place.api.get("/api/cluster-name")).json() == {"name": overview["cluster_name"]}
    extensions = (await place.api.get("/api/extensions")).json()
    assert {"javascript": "dispatcher.js"} in extensions


async def test_a_name_is_a_global_parameter(place: Any) -> None:
    async def shown() -> tuple[str, str]:
        name = (await place.api.get("/api/cluster-name")).json()["name"]
        return name, (await place.api.get("/api/overview")).json()["cluster_name"]

    # A RabbitMQ that other tests have named gets its node's name back.
    await place.api.delete("/api/global-parameters/cluster_name")
    first, _ = await shown()
    try:
        for name in ("orders, east", ""):
            answer = await place.api.put("/api/cluster-name", json={"name": name})
            assert (answer.status_code, answer.content) == (204, b"")
            assert await shown() == (name, name)
        parameter = (await place.api.get("/api/global-parameters/cluster_name")).json()
        assert parameter == {"name": "cluster_name", "value": ""}
    finally:
        await place.api.delete("/api/global-parameters/cluster_name")
    assert await shown() == (first, first)


async def test_no_name_at_all(place: Any) -> None:
    answer = await place.api.put("/api/cluster-name", json={})
    assert (answer.status_code, answer.json()["reason"]) == (400, "[{key_missing,name}]")


async def test_a_name_that_is_no_text(api: httpx.AsyncClient) -> None:
    answer = await api.put("/api/cluster-name", json={"name": 5})
    assert (answer.status_code, answer.json()["reason"]) == (
        400,
        "the name of the cluster is a text",
    )


async def test_a_name_stays(anyio_backend: str, tmp_path: Path) -> None:
    config = ServerConfig(amqp=FREE, http=FREE, data_dir=tmp_path / "data")
    for turn in range(2):
        server = Server(config)
        await server.start()
        try:
            base_url = f"http://127.0.0.1:{server.http_port}"
            login = ("guest", "guest")
            async with httpx.AsyncClient(base_url=base_url, auth=login, trust_env=False) as api:
                if turn == 0:
                    await api.put("/api/cluster-name", json={"name": "east"})
                assert (await api.get("/api/cluster-name")).json() == {"name": "east"}
                assert 'rabbitmq_cluster="east"' in (await api.get("/metrics")).text
        finally:
            await server.stop()


async def test_nothing_to_do(place: Any) -> None:
    assert (await place.api.post("/api/rebalance/queues", json={})).status_code == 204
    answer = await place.api.put("/api/feature-flags/no.such/enable", json={})
    assert (answer.status_code, answer.json()["reason"]) == (400, "unsupported")


async def test_how_to_log_in_is_told_to_everybody(place: Any) -> None:
    answer = await place.api.get("/api/auth", auth=None)
    assert (answer.status_code, answer.json()["enable_uaa"]) == (200, False)
