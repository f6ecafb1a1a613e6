"""Declaring and deleting over HTTP, alike by both brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from reference_broker.runtime.config import ServerConfig
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def name(place: Any, unique: Callable[[str], str]) -> AsyncIterator[str]:
    """Free for a queue and an exchange, and free again afterwards."""
    name = unique("n")
    yield name
    for kind in ("queues", "exchanges"):
        await place.api.delete(f"/api/{kind}/%2F/{name}")


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("queues", {}, {"durable": False, "auto_delete": False, "arguments": {}}),
        (
            "queues",
            {"durable": "true", "auto_delete": "false", "arguments": {"x-message-ttl": 5}},
            {"durable": True, "auto_delete": False, "arguments": {"x-message-ttl": 5}},
        ),
        ("exchanges", {}, {"type": "direct", "durable": False, "internal": False}),
        (
            "exchanges",
            {"type": "topic", "durable": True, "internal": True, "arguments": []},
            {"type": "topic", "durable": True, "internal": True, "arguments": {}},
        ),
    ],
)
async def test_declared_once_and_again(
    place: Any, name: str, kind: str, body: Any, shown: Any
) -> None:
    path = f"/api/{kind}/%2F/{name}"
    first, again = [await place.api.put(path, json=body) for _ in range(2)]
    assert (first.status_code, first.content) == (201, b"")
    assert (again.status_code, again.content) == (204, b"")
    row = (await place.api.get(path)).json()
    assert {key: row[key] for key in shown} == shown
    assert (await place.api.delete(path)).status_code == 204
    assert (await place.api.delete(path)).json() == {
        "error": "Object Not Found",
        "reason": "Not Found",
    }


@pytest.mark.parametrize(
    ("path", "body", "status", "error", "reason"),
    [
        ("queues/%2F/amq.x", {}, 401, "not_authorised", "Access refused."),
        ("exchanges/%2F/amq.x", {}, 401, "not_authorised", "Access refused."),
        ("exchanges/%2F/amq.default", {}, 401, "not_authorised", "Access refused."),
        ("queues/no.such/q", {}, 404, "not_found", "vhost_not_found"),
        ("queues/%2F/q", {"durable": "maybe"}, 400, "bad_request", ["not_boolean", "maybe"]),
        ("queues/%2F/q", {"durable": 5}, 400, "bad_request", ["not_boolean", 5]),
        ("exchanges/%2F/q", {"arguments": {"a": {"b": None}}}, 400, "bad_request",
         "null_not_allowed"),
        ("queues/%2F/q", {"node": "no@where"}, 400, "bad_request",
         "Node no@where could not be contacted"),
        ("queues/%2F/q", {"arguments": {"x-message-ttl": "x"}}, 400, "bad_request",
         "invalid arg 'x-message-ttl' for queue 'q' in vhost '/':"
         ' "expected integer, got longstr"'),
    ],
)  # fmt: skip
async def test_what_is_refused(
    place: Any, path: str, body: Any, status: int, error: str, reason: Any
) -> None:
    answer = await place.api.put(f"/api/{path}", json=body)
    assert answer.status_code == status
    assert answer.json() == {"error": error, "reason": reason}


async def test_a_difference_is_refused(place: Any, name: str) -> None:
    await place.api.put(f"/api/queues/%2F/{name}", json={})
    answer = await place.api.put(f"/api/queues/%2F/{name}", json={"durable": True})
    assert answer.json()["reason"] == (
        f"inequivalent arg 'durable' for queue '{name}' in vhost '/':"
        " received 'true' but current is 'false'"
    )


async def test_deleting_on_conditions(place: Any, name: str) -> None:
    queue, exchange = f"/api/queues/%2F/{name}", f"/api/exchanges/%2F/{name}"
    await place.api.put(queue, json={})
    await place.api.put(exchange, json={})
    await place.api.post(f"/api/bindings/%2F/e/{name}/q/{name}", json={"routing_key": "k"})
    message = {"properties": {}, "routing_key": "k", "payload": "x", "payload_encoding": "string"}
    assert (await place.api.post(exchange + "/publish", json=message)).json() == {"routed": True}
    answer = await place.api.delete(queue + "?if-empty=true")
    assert answer.json()["reason"] == f"queue '{name}' in vhost '/' not empty"
    answer = await place.api.delete(exchange + "?if-unused=true")
    assert answer.json()["reason"] == f"exchange '{name}' in vhost '/' in use"
    assert (await place.api.delete(queue + "?if-unused=true")).status_code == 204
    assert (await place.api.delete(exchange + "?if-unused=true")).status_code == 204


async def test_queue_actions(place: Any, name: str) -> None:
    path = f"/api/queues/%2F/{name}"
    await place.api.put(path, json={})
    assert (await place.api.post(path + "/actions", json={"action": "sync"})).status_code == 204
    answer = await place.api.post(path + "/actions", json={"action": "nope"})
    assert answer.json() == {"error": "bad_request", "reason": ["unknown", "nope"]}
    answer = await place.api.post(path + "/actions", json={})
    assert answer.json()["reason"] == "[{key_missing,action}]"


async def test_what_was_answered_survives_a_restart(server: Server, api: httpx.AsyncClient) -> None:
    await api.put("/api/queues/%2F/kept", json={"durable": True})
    await api.put("/api/queues/%2F/dropped", json={"durable": True})
    await api.put("/api/exchanges/%2F/x", json={"durable": True, "type": "topic"})
    await api.post("/api/bindings/%2F/e/x/q/kept", json={"routing_key": "a.#"})
    await api.delete("/api/queues/%2F/dropped")
    await server.stop()
    again = Server(
        ServerConfig(amqp=server.config.amqp, http=None, data_dir=server.config.data_dir)
    )
    await again.start()
    try:
        vhost = again.broker.vhosts["/"]
        assert set(vhost.queues) == {"kept"}
        assert [binding.key for binding in vhost.bindings_from("x")] == ["a.#"]
    finally:
        await again.stop()


@pytest.mark.parametrize("depth", [100, 600, 950])
async def test_arguments_that_are_too_deep(api: httpx.AsyncClient, depth: int) -> None:
    """json.loads reads them, and Python's limit of recursion is not far."""
    content = b'{"arguments":{"a":' + b"[" * depth + b"]" * depth + b"}}"
    for path in ("queues/%2F/q", "exchanges/%2F/x"):
        answer = await api.put(f"/api/{path}", content=content)
        assert answer.status_code == 400, (path, answer.text)
        assert (await api.get(f"/api/{path}")).status_code == 404
