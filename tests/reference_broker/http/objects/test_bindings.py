"""Binding and unbinding over HTTP, alike by both brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from reference_broker.http.objects.bindings import properties_key_in

pytestmark = pytest.mark.anyio


@pytest.fixture
async def queue(place: Any, unique: Callable[[str], str]) -> AsyncIterator[str]:
    name = unique("q")
    await place.api.put(f"/api/queues/%2F/{name}", json={})
    yield name
    await place.api.delete(f"/api/queues/%2F/{name}")


@pytest.mark.parametrize(
    ("key", "location", "once"),
    [
        ("a.#", "a.%2523", "a.%23"),
        ("", "~", "~"),
        ("a/b", "a%252Fb", "a%2Fb"),
        ("a b", "a%2Bb", "a+b"),
        ("~", "%257E", None),
    ],
)
async def test_bound_found_and_unbound(
    place: Any, queue: str, key: str, location: str, once: str | None
) -> None:
    path = f"/api/bindings/%2F/e/amq.topic/q/{queue}"
    for _ in range(2):  # the second time it is there, and that is fine
        answer = await place.api.post(path, json={"routing_key": key})
        assert (answer.status_code, answer.content) == (201, b"")
        assert answer.headers["location"] == f"{queue}/{location}"
    for name in filter(None, (location, once)):
        assert (await place.api.get(f"{path}/{name}")).json()["routing_key"] == key
    assert (await place.api.delete(f"{path}/{location}")).status_code == 204
    assert (await place.api.delete(f"{path}/{location}")).status_code == 404
    assert (await place.api.get(path)).json() == []


async def test_arguments_tell_bindings_apart(place: Any, queue: str) -> None:
    path = f"/api/bindings/%2F/e/amq.headers/q/{queue}"
    locations = [
        (await place.api.post(path, json={"arguments": arguments})).headers["location"]
        for arguments in ({"a": 1}, {"a": 2})
    ]
    assert len(set(locations)) == 2
    found = (await place.api.get(f"{path}/{locations[1].partition('/')[2]}")).json()
    assert found["arguments"] == {"a": 2}
    assert await place.api.delete(f"{path}/{found['properties_key']}")
    assert [row["arguments"] for row in (await place.api.get(path)).json()] == [{"a": 1}]


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("%2F/e/no.such/q/{queue}", {}, 404, "no exchange 'no.such' in vhost '/'"),
        ("%2F/e/amq.topic/q/no.such", {}, 404, "no queue 'no.such' in vhost '/'"),
        ("no.such/e/amq.topic/q/{queue}", {}, 404, "vhost_not_found"),
        ("%2F/e/amq.default/q/{queue}", {}, 401, "Access refused."),
    ],
)
async def test_what_is_refused(
    place: Any, queue: str, path: str, body: Any, status: int, reason: str
) -> None:
    answer = await place.api.post(f"/api/bindings/{path.format(queue=queue)}", json=body)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


async def test_the_default_exchange_lets_nobody_go(place: Any, queue: str) -> None:
    answer = await place.api.delete(f"/api/bindings/%2F/e/amq.default/q/{queue}/{queue}")
    assert (answer.status_code, answer.json()["error"]) == (401, "not_authorised")


async def test_no_such_ends_have_no_bindings(place: Any) -> None:
    for path in ("bindings/no.such/e/x/q/y", "exchanges/no.such/x/bindings/source"):
        answer = await place.api.get(f"/api/{path}")
        assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.parametrize(
    ("segment", "key"),
    [("a.#", "a.%23"), ("a.%23", "a.%23"), ("", "~"), ("~", "~"), ("~h", "~h"), ("k~h", "k~h")],
)
def test_the_key_that_a_path_means(segment: str, key: str) -> None:
    assert properties_key_in(segment) == key
