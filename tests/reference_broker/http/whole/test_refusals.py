"""Requests that both brokers refuse, alike: status, error and reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

NOT_FOUND = {"error": "Object Not Found", "reason": "Not Found"}


@pytest.mark.parametrize(
    "path",
    [
        "bogus", "queues/%2F/no.such", "queues/no.such", "exchanges/no.such",
        "exchanges/%2F/no.such", "bindings/no.such", "vhosts/no.such", "connections/no.such",
        "consumers/no.such",
    ],
)  # fmt: skip
async def test_not_there(place: Any, path: str) -> None:
    answer = await place.api.get(f"/api/{path}")
    assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


@pytest.mark.parametrize("path", ["nodes/no.such", "queues/%2F/a/b/c/d", "queues//", "../api"])
async def test_not_there_either(api: httpx.AsyncClient, path: str) -> None:
    answer = await api.get(f"/api/{path}")
    assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "whoami", "GET"),
        ("GET", "queues/%2F/q/get", "POST"),
        ("GET", "queues/%2F/q/contents", "DELETE"),
        ("PATCH", "exchanges/%2F/x/publish", "POST"),
    ],
)
async def test_other_methods(place: Any, method: str, path: str, allowed: str) -> None:
    answer = await place.api.request(method, f"/api/{path}")
    assert answer.status_code == 405
    assert allowed in answer.headers["allow"].split(", ")


async def test_a_wrong_login(place: Any) -> None:
    answer = await place.api.get("/api/whoami", auth=("guest", "wrong"))
    assert answer.status_code == 401
    assert answer.json() == {"error": "not_authorized", "reason": "Login failed"}
    assert answer.headers["www-authenticate"].startswith("Basic realm=")
    answer = await place.api.get("/api/whoami", auth=NoLogin())
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic realm=")


class NoLogin(httpx.Auth):
    """Sends nothing, where ``None`` would send the client's own."""


PUBLISH = {"properties": {}, "routing_key": "k", "payload": "x", "payload_encoding": "string"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"payload": 5}, "payload_not_string"),
        ({"payload_encoding": "rot13"}, ["unsupported_encoding", "rot13"]),
        ({"payload": "@@@", "payload_encoding": "base64"}, ["not_base64", "@@@"]),
        ({"properties": {"delivery_mode": "2"}}, ["not_int", "delivery_mode"]),
        ({"properties": {"priority": 1.5}}, ["not_int", "priority"]),
        ({"properties": {"timestamp": "now"}}, ["not_int", "timestamp"]),
        ({"properties": {"content_type": 5}}, ["not_string", "content_type"]),
        ({"properties": {"expiration": 5}}, ["not_string", "expiration"]),
        ({"properties": {"message_id": None}}, ["not_string", "message_id"]),
        (
            {"properties": {"expiration": "soon"}},
            "406 PRECONDITION_FAILED - invalid expiration 'soon': no_integer",
        ),
        (
            {"properties": {"user_id": "bob"}},
            "406 PRECONDITION_FAILED - user_id property set to 'bob'"
            " but authenticated user was 'guest'",
        ),
    ],
)
async def test_what_can_not_be_published(
    place: Any, change: dict[str, Any], reason: str | list[str]
) -> None:
    answer = await place.api.post(
        "/api/exchanges/%2F/amq.default/publish", json={**PUBLISH, **change}
    )
    assert answer.status_code == 400
    assert answer.json() == {"error": "bad_request", "reason": reason}


@pytest.mark.parametrize(
    ("exchange", "reason"),
    [
        ("no.such", "404 NOT_FOUND - no exchange 'no.such' in vhost '/'"),
        (
            "amq.rabbitmq.trace",
            "403 ACCESS_REFUSED - cannot publish to internal exchange 'amq.rabbitmq.trace'"
            " in vhost '/'",
        ),
    ],
)
async def test_where_nothing_can_be_published(place: Any, exchange: str, reason: str) -> None:
    answer = await place.api.post(f"/api/exchanges/%2F/{exchange}/publish", json=PUBLISH)
    assert answer.status_code == 400
    assert answer.json() == {"error": "bad_request", "reason": reason}


@pytest.mark.parametrize("body", [b"garbage", b"[1]", b"{", b"\xff"])
async def test_a_body_that_is_no_object(place: Any, body: bytes) -> None:
    answer = await place.api.post("/api/exchanges/%2F/amq.default/publish", content=body)
    assert answer.status_code == 400
    assert answer.json() == {"error": "bad_request", "reason": "not_json"}


@pytest.mark.parametrize(
    ("headers", "status", "reason"),
    [
        ({"a": [1] * 1_000_000}, 413, "a request's body has at most 8192 values"),
        ({f"k{number}": "" for number in range(20_000)}, 413, None),
        ({"a": "x" * 200_000}, 400, "properties of 200025 bytes are larger than a frame carries,"
         " 131064 bytes"),
    ],
)  # fmt: skip
async def test_properties_that_no_frame_carries(
    api: httpx.AsyncClient, headers: dict[str, Any], status: int, reason: str | None
) -> None:
    """They are refused before all of them is looked at, let alone encoded."""
    body = {**PUBLISH, "properties": {"headers": headers}}
    answer = await api.post("/api/exchanges/%2F/amq.default/publish", json=body)
    assert answer.status_code == status
    assert reason is None or answer.json()["reason"] == reason


async def test_a_large_body_is_read_as_a_small_one(api: httpx.AsyncClient) -> None:
    path, text = "/api/exchanges/%2F/amq.default/publish", 'é"\\' * 30_000
    answer = await api.post(path, json={**PUBLISH, "payload": text, "nothing": [text, {"a": 1.5}]})
    assert (answer.status_code, answer.json()) == (200, {"routed": False})
    for wrong in (b"x" * 100_000, b'{"a":"' + b"x" * 100_000, b"[" + b"1," * 9_000 + b"]"):
        answer = await api.post(path, content=wrong)
        assert (answer.status_code, answer.json()["reason"]) == (400, "not_json")


@pytest.mark.parametrize("missing", list(PUBLISH))
async def test_a_key_that_is_missing(place: Any, missing: str) -> None:
    body = {key: value for key, value in PUBLISH.items() if key != missing}
    answer = await place.api.post("/api/exchanges/%2F/amq.default/publish", json=body)
    assert answer.status_code == 400
    assert answer.json() == {"error": "bad_request", "reason": f"[{{key_missing,{missing}}}]"}


async def test_get_and_purge_of_no_queue(place: Any, unique: Callable[[str], str]) -> None:
    name = unique("none")
    wanted = {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"}
    answer = await place.api.post(f"/api/queues/%2F/{name}/get", json=wanted)
    assert answer.status_code == 404
    assert answer.json() == {
        "error": "not_found",
        "reason": f"NOT_FOUND - no queue '{name}' in vhost '/'",
    }
    answer = await place.api.delete(f"/api/queues/%2F/{name}/contents")
    assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("page=0", "invalid_pagination_parameters"),
        ("page=1&page_size=501", "invalid_pagination_parameters"),
        ("page=x", "bad_request"),
        ("page=999999", "page_out_of_range"),
    ],
)
async def test_pages_that_are_not_there(place: Any, query: str, error: str) -> None:
    answer = await place.api.get(f"/api/exchanges/%2F?{query}")
    assert (answer.status_code, answer.json()["error"]) == (400, error)
