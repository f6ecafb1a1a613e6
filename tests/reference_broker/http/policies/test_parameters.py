"""Parameters by component, alike on both brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

NOT_FOUND = {"error": "Object Not Found", "reason": "Not Found"}
VALUE = {"pattern": "^none$", "definition": {"max-length": 5}, "priority": 0, "apply-to": "all"}


async def test_an_operator_policy_is_a_parameter(place: Any, unique: Callable[[str], str]) -> None:
    api, name = place.api, unique("p")
    path = f"/api/parameters/operator_policy/%2F/{name}"
    assert (await api.put(path, json={"value": VALUE})).status_code == 201
    assert (await api.put(path, json={"value": VALUE})).status_code == 204
    row = {"value": VALUE, "vhost": "/", "component": "operator_policy", "name": name}
    assert (await api.get(path)).json() == row
    for above in ("", "/operator_policy", "/operator_policy/%2F"):
        assert row in (await api.get(f"/api/parameters{above}")).json()
    operator = await api.get(f"/api/operator-policies/%2F/{name}")
    assert operator.json() == {"vhost": "/", "name": name, **VALUE}
    assert (await api.delete(path)).status_code == 204
    for method in ("GET", "DELETE"):
        answer = await api.request(method, path)
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


async def test_a_user_policy_is_shown_and_set_elsewhere(
    place: Any, unique: Callable[[str], str]
) -> None:
    api, name = place.api, unique("p")
    path = f"/api/parameters/policy/%2F/{name}"
    refused = await api.put(path, json={"value": VALUE})
    assert (refused.status_code, refused.json()) == (
        400,
        {"error": "bad_request", "reason": "policies may not be set using this method"},
    )
    assert (await api.put(f"/api/policies/%2F/{name}", json=VALUE)).status_code == 201
    try:
        row = {"value": VALUE, "vhost": "/", "component": "policy", "name": name}
        assert (await api.get(path)).json() == row
        assert row in (await api.get("/api/parameters/policy")).json()
        assert row not in (await api.get("/api/parameters")).json()
    finally:
        assert (await api.delete(f"/api/policies/%2F/{name}")).status_code == 204


@pytest.mark.parametrize(
    ("component", "value", "lines"),
    [
        ("nope", 1, "component nope not found\n"),
        ("operator_policy", 5, "p not a list 5\n"),
        (
            "operator_policy",
            {"pattern": "x"},
            'Key "definition" not found in p\nKey "priority" not found in p\n',
        ),
        (
            "operator_policy",
            {**VALUE, "definition": {"max-length": -1}},
            "-1 is not a valid maximum length\n",
        ),
    ],
)
async def test_what_is_refused(place: Any, component: str, value: Any, lines: str) -> None:
    answer = await place.api.put(f"/api/parameters/{component}/%2F/p", json={"value": value})
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "bad_request", "reason": f"Validation failed\n\n{lines}"},
    )


async def test_what_is_not_there(place: Any) -> None:
    assert (await place.api.get("/api/parameters/nope")).json() == []
    for path in ("nope/no.such", "operator_policy/%2F/no.such", "operator_policy/no.such/p"):
        answer = await place.api.get(f"/api/parameters/{path}")
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)
    answer = await place.api.put("/api/parameters/operator_policy/%2F/p", json={})
    assert answer.json()["reason"] == "[{key_missing,value}]"


async def test_a_user_policy_is_not_deleted_here(api: httpx.AsyncClient) -> None:
    await api.put("/api/policies/%2F/p", json=VALUE)
    assert (await api.delete("/api/parameters/policy/%2F/p")).status_code == 400
    assert (await api.get("/api/policies/%2F/p")).status_code == 200
