"""Global parameters over HTTP, alike on both brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from reference_broker.core.policy.global_parameters import VALUE_BYTES_MAX

pytestmark = pytest.mark.anyio


async def test_one_is_kept(place: Any, unique: Callable[[str], str]) -> None:
    api, name = place.api, unique("g")
    path = f"/api/global-parameters/{name}"
    value = [1, {"a": None}]
    assert (await api.put(path, json={"value": 1})).status_code == 201
    assert (await api.put(path, json={"value": value})).status_code == 204
    assert (await api.get(path)).json() == {"name": name, "value": value}
    assert {"name": name, "value": value} in (await api.get("/api/global-parameters")).json()
    answer = await api.put(path, json={})
    assert (answer.status_code, answer.json()["reason"]) == (400, "[{key_missing,value}]")
    assert (await api.delete(path)).status_code == 204
    for method in ("GET", "DELETE"):
        answer = await api.request(method, path)
        assert answer.status_code == 404
        assert answer.json() == {"error": "Object Not Found", "reason": "Not Found"}


async def test_a_bound(api: httpx.AsyncClient) -> None:
    answer = await api.put("/api/global-parameters/g", json={"value": "x" * VALUE_BYTES_MAX})
    assert answer.status_code == 400
    assert (await api.get("/api/global-parameters")).json() == []
