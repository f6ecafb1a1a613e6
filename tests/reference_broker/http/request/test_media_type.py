"""Bodies under the media types that tools and pages give them: RabbitMQ's answers, path by path."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from reference_broker.http.request.media_type import Takes, is_taken, taken_at

pytestmark = pytest.mark.anyio

MESSAGE = {"properties": {}, "routing_key": "k", "payload": "x", "payload_encoding": "string"}
LIMIT = {"value": -1}
TOOLS = [None, "application/json", "Application/JSON; charset=utf-8", "application/octet-stream",
         "application/x-www-form-urlencoded", "application/vnd.x+json"]  # fmt: skip
LENIENT = [
    ("PUT", "vhosts/media", {}),
    ("PUT", "users/media", {"password": "x", "tags": ""}),
    ("PUT", "exchanges/media/x", {"type": "direct", "durable": False}),
    ("PUT", "permissions/media/media", {"configure": "", "write": "", "read": ""}),
    ("PUT", "policies/media/p", {"pattern": "^$", "definition": {"max-length": 1}}),
    ("PUT", "global-parameters/media", {"value": 1}),
    ("POST", "exchanges/media/amq.topic/publish", MESSAGE),
]
OPERATOR = {"pattern": "^$", "definition": {"max-length": 1}}
STRICT = [
    ("PUT", "vhost-limits/media/max-queues", LIMIT),
    ("PUT", "user-limits/media/max-channels", LIMIT),
    ("PUT", "operator-policies/media/p", OPERATOR),
    ("POST", "definitions", {}),
    ("POST", "definitions/media", {}),
    ("POST", "all-configuration", {}),
]


async def _sent(
    api: httpx.AsyncClient, method: str, path: str, body: Any, media_type: str | None
) -> httpx.Response:
    content = httpx.Request("PUT", "http://x", json=body).content
    headers = {} if media_type is None else {"content-type": media_type}
    return await api.request(method, f"/api/{path}", content=content, headers=headers)


async def test_json_by_any_name_that_tools_give_it(place: Any) -> None:
    for method, path, body in LENIENT:
        for media_type in TOOLS:
            answer = await _sent(place.api, method, path, body, media_type)
            assert answer.status_code in (200, 201, 204), (path, media_type, answer.text)
    for path in ("policies/media/p", "global-parameters/media", "users/media", "vhosts/media"):
        assert (await place.api.delete(f"/api/{path}")).status_code == 204


async def test_where_rabbitmq_wants_json_by_its_own_name(place: Any) -> None:
    for method, path, body in LENIENT[:2]:
        await _sent(place.api, method, path, body, TOOLS[1])
    for method, path, body in STRICT:
        for media_type in (*TOOLS, "text/plain"):
            answer = await _sent(place.api, method, path, body, media_type)
            named = media_type is not None and media_type.lower().startswith("application/json")
            assert (answer.status_code in (201, 204)) is named, (path, media_type, answer.text)
            if not named:
                assert (answer.status_code, answer.content) == (415, b"")
    for path in ("users/media", "vhosts/media"):
        assert (await place.api.delete(f"/api/{path}")).status_code == 204


async def test_a_login_is_a_form(place: Any) -> None:
    body = b"username=guest&password=guest"
    for media_type, status in (("application/x-www-form-urlencoded", 200), ("text/plain", 415)):
        headers = {"content-type": media_type}
        answer = await place.api.post("/api/login", content=body, headers=headers)
        assert answer.status_code == status


@pytest.mark.parametrize("media_type", ["text/plain", "text/plain;charset=UTF-8",
                                        "multipart/form-data; boundary=x"])  # fmt: skip
async def test_what_only_pages_send_is_not_taken(api: httpx.AsyncClient, media_type: str) -> None:
    """RabbitMQ takes both of these on most paths."""
    for method, path, body in LENIENT:
        answer = await _sent(api, method, path, body, media_type)
        assert (answer.status_code, answer.content) == (415, b""), path
    assert (await api.get("/api/vhosts/media")).status_code == 404


def test_a_type_of_media_is_read_of_bodies_only() -> None:
    assert is_taken(taken_at("/api/queues/{vhost:name}/{queue:name}"), "DELETE", "text/plain")
    assert not is_taken(Takes.OF_TOOLS, "POST", "")
    assert not is_taken(Takes.OF_TOOLS, "POST", "nonsense")
    assert is_taken(Takes.DEFINITIONS, "POST", 'multipart/form-data; boundary="x"')
