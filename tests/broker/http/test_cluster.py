"""What tools ask of a cluster and its plugins."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

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


async def test_nothing_to_do(place: Any) -> None:
    assert (await place.api.post("/api/rebalance/queues", json={})).status_code == 204
    answer = await place.api.put("/api/feature-flags/no.such/enable", json={})
    assert (answer.status_code, answer.json()["reason"]) == (400, "unsupported")


async def test_how_to_log_in_is_told_to_everybody(place: Any) -> None:
    answer = await place.api.get("/api/auth", auth=None)
    assert (answer.status_code, answer.json()["enable_uaa"]) == (200, False)
