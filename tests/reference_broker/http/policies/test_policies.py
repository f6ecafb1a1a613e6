"""Policies and operator policies over HTTP: alike on both brokers, and durable here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyRefused
from reference_broker.http.policies.policies import POLICY_BYTES_MAX, refusal_text
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

NOT_FOUND = {"error": "Object Not Found", "reason": "Not Found"}
FREE = Address("127.0.0.1", 0)

Put = Callable[..., Any]


@pytest.fixture(params=["policies", "operator-policies"])
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
async def path(place: Any, kind: str, unique: Callable[[str], str]) -> AsyncIterator[str]:
    """A policy's own path, which is free."""
    path = f"/api/{kind}/%2F/{quote(unique('é/p'), safe='')}"
    yield path
    await place.api.delete(path)


async def test_one_is_set_changed_shown_and_removed(place: Any, kind: str, path: str) -> None:
    api = place.api
    body = {"pattern": "^none$", "definition": {"max-length": 5}}
    first = await api.put(path, json=body)
    assert (first.status_code, first.content) == (201, b"")
    assert (await api.put(path, json=body)).status_code == 204
    shown = (await api.get(path)).json()
    assert shown == {
        "vhost": "/", "name": shown["name"], "pattern": "^none$", "apply-to": "all",
        "definition": {"max-length": 5}, "priority": 0,
    }  # fmt: skip
    more = {"priority": -1.5, "apply-to": "queues", "name": "other", "vhost": "other", "extra": 1}
    assert (await api.put(path, json={**body, **more})).status_code == 204
    changed = {**shown, "priority": -1.5, "apply-to": "queues"}
    assert (await api.get(path)).json() == changed
    for listed in (f"/api/{kind}", f"/api/{kind}/%2F"):
        assert changed in (await api.get(listed)).json()
    assert (await api.delete(path)).status_code == 204
    for method in ("GET", "DELETE"):
        answer = await api.request(method, path)
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


async def test_the_least_important_are_listed_first(
    place: Any, kind: str, unique: Callable[[str], str]
) -> None:
    names = [unique(name) for name in ("m", "z", "a")]
    try:
        for name, priority in zip(names, (5, 1, 1), strict=True):
            body = {"pattern": "^none$", "definition": {"max-length": 5}, "priority": priority}
            await place.api.put(f"/api/{kind}/%2F/{name}", json=body)
        rows = (await place.api.get(f"/api/{kind}/%2F")).json()
        listed = [row["name"] for row in rows if row["name"] in names]
        assert listed == [names[2], names[1], names[0]]
    finally:
        for name in names:
            await place.api.delete(f"/api/{kind}/%2F/{name}")


GOOD = {"pattern": "^none$", "definition": {"max-length": 5}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pattern": 5}, "pattern should be a binary but was 5"),
        ({"priority": "7"}, 'priority should be a number, actually was <<"7">>'),
        ({"definition": {}}, "no policy provided"),
        ({"definition": {"message-ttl": -5}}, "-5 is not a valid message TTL"),
        ({"definition": {"expires": 0}}, "0 is not a valid queue expiry"),
        ({"definition": {"max-length": "5"}}, '<<"5">> is not a valid maximum length'),
        ({"definition": {"max-length-bytes": 5.5}}, "5.5 is not a valid maximum length in bytes"),
        ({"definition": {"max-in-memory-length": -1}}, "-1 is not a valid maximum memory in bytes"),
        ({"definition": {"delivery-limit": None}}, "null is not a valid delivery limit"),
        (
            {"definition": {"a&b": [1, "é", {"k": 1.5}], "a": True}},
            '[{<<"a">>,true},{<<"a&b">>,[1,<<"é">>,#{<<"k">> => 1.5}]}]'
            " are not recognised policy settings",
        ),
        (
            {"definition": {"max-length": -1}, "priority": "a"},
            '-1 is not a valid maximum length\npriority should be a number, actually was <<"a">>',
        ),
    ],
)
async def test_what_both_kinds_refuse(
    place: Any, kind: str, path: str, change: dict[str, Any], reason: str
) -> None:
    answer = await place.api.put(path, json={**GOOD, **change})
    told = PolicyKind.USER if kind == "policies" else PolicyKind.OPERATOR
    assert answer.status_code == 400
    assert answer.json() == {
        "error": "bad_request",
        "reason": refusal_text(PolicyRefused(reason.split("\n")), told),
    }
    assert (await place.api.get(path)).status_code == 404


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ({"overflow": "x"}, "&lt;&lt;\"x\"&gt;&gt; is not a valid overflow value"),
        ({"queue-version": 3}, "3 is not a valid queue-version value"),
        ({"dead-letter-exchange": 5}, "5 is not a valid dead letter exchange name"),
        ({"alternate-exchange": 5}, "5 is not a valid alternate exchange name"),
        (
            {"ha-sync-mode": "automatic"},
            "ha-mode must be specified to specify ha-params, ha-sync-mode or"
            " ha-promote-on-shutdown",
        ),
        (
            {"a&b": 1},
            "[{&lt;&lt;\"a&amp;b\"&gt;&gt;,1}] are not recognised policy settings",
        ),
    ],
)  # fmt: skip
async def test_what_user_policies_refuse(
    place: Any, unique: Callable[[str], str], definition: Any, reason: str
) -> None:
    path = f"/api/policies/%2F/{unique('p')}"
    answer = await place.api.put(path, json={"pattern": "", "definition": definition})
    assert (answer.status_code, answer.json()["reason"]) == (
        400,
        f"Validation failed\n\n{reason}\n",
    )


async def test_what_is_missing(place: Any, kind: str, path: str) -> None:
    for body, reason in (
        ({}, "[{key_missing,pattern},{key_missing,definition}]"),
        ({"pattern": "x"}, "[{key_missing,definition}]"),
    ):
        answer = await place.api.put(path, json=body)
        assert (answer.status_code, answer.json()["reason"]) == (400, reason)
    nowhere = f"/api/{kind}/no.such/p"
    answer = await place.api.put(nowhere, json=GOOD)
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": "not_found", "reason": "vhost_not_found"},
    )
    for method, gone in (("GET", nowhere), ("DELETE", nowhere), ("GET", f"/api/{kind}/no.such")):
        answer = await place.api.request(method, gone)
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


async def test_a_body_has_a_bound(api: httpx.AsyncClient, kind: str) -> None:
    body = b'{"pattern":"' + b"x" * POLICY_BYTES_MAX
    headers = {"content-type": "application/json"}
    answer = await api.put(f"/api/{kind}/%2F/p", content=body, headers=headers)
    assert answer.status_code == 413


async def test_what_applies_is_told_of_queues_and_exchanges(
    api: httpx.AsyncClient, server: Server
) -> None:
    vhost = server.broker.vhosts["/"]
    vhost.declare_queue("q")
    await api.put("/api/policies/%2F/p", json={"pattern": "^q", "definition": {"max-length": 5}})
    operator = {"pattern": "^q$", "definition": {"max-length": 3, "expires": 90_000}}
    await api.put("/api/operator-policies/%2F/o", json=operator)
    vhost.declare_exchange("qx", "direct")
    row = (await api.get("/api/queues/%2F/q")).json()
    assert (row["policy"], row["operator_policy"], row["effective_policy_definition"]) == (
        "p",
        "o",
        {"max-length": 3, "expires": 90_000},
    )
    assert (await api.get("/api/exchanges/%2F/qx")).json()["policy"] == "p"
    assert "policy" not in (await api.get("/api/exchanges/%2F/amq.topic")).json()


async def test_they_are_there_after_a_restart(anyio_backend: str, tmp_path: Any) -> None:
    config = ServerConfig(amqp=FREE, http=FREE, data_dir=tmp_path / "data")
    body = {"pattern": "^q", "definition": {"max-length": 5}, "priority": 2, "apply-to": "queues"}
    for is_first in (True, False):
        server = Server(config)
        await server.start()
        try:
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{server.http_port}",
                auth=("guest", "guest"),
                trust_env=False,
            ) as api:
                if is_first:
                    server.broker.vhosts["/"].declare_queue("q", durable=True)
                    assert (await api.put("/api/policies/%2F/p", json=body)).status_code == 201
                    put = await api.put("/api/global-parameters/g", json={"value": [1]})
                    assert put.status_code == 201
                found = (await api.get("/api/policies/%2F/p")).json()
                kept = (await api.get("/api/global-parameters/g")).json()
                row = (await api.get("/api/queues/%2F/q")).json()
        finally:
            await server.stop()
        assert found == {"vhost": "/", "name": "p", **body}
        assert kept == {"name": "g", "value": [1]}
        assert row["policy"] == "p"
