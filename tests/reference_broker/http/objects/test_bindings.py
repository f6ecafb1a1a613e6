"""Binding and unbinding over HTTP, alike by both brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from reference_broker.http.access.vhosts import Placed
from reference_broker.http.objects.bindings import (
    KEY_ENTRIES,
    Listable,
    is_bound,
    properties_key_in,
)
from reference_broker.http.request.portions import ENTRIES, Portion
from reference_broker.runtime.server import Server

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


async def test_one_of_many_bindings_is_looked_for_in_portions(
    api: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    vhost = server.broker.vhosts["/"]
    vhost.declare_queue("q")
    for number in range(1_400):
        vhost.bind("amq.direct", "q", f"k{number}", destination_is_queue=True)
    ended = 0
    end = Portion.end

    async def counted(portion: Portion) -> None:
        nonlocal ended
        ended += 1
        await end(portion)
        if ended == 6:
            vhost.unbind("amq.direct", "q", "k1399", destination_is_queue=True)

    monkeypatch.setattr(Portion, "end", counted)
    path = "/api/bindings/%2F/e/amq.direct/q/q/k1399"
    assert (await api.get(path)).status_code == 200
    assert ended == 1_400 * KEY_ENTRIES // ENTRIES
    assert (await api.delete(path)).status_code == 404  # it went while it was looked for
    assert len(vhost.bindings_to("q", is_queue=True)) == 1_400


async def test_what_goes_while_it_is_listed_is_no_row(server: Server) -> None:
    vhost = server.broker.vhosts["/"]
    vhost.declare_queue("q")
    vhost.declare_exchange("x", "direct")
    vhost.bind("x", "q", "k", destination_is_queue=True)
    vhost.bind("x", "amq.topic", "k", destination_is_queue=False)
    bound = [*vhost.bindings_from("x"), *vhost.bindings_to("q", is_queue=True)[:1]]
    listables: list[Listable] = [*bound, "q"]
    rows = [Placed(vhost, each) for each in listables]
    assert all(is_bound(row) for row in rows)
    vhost.delete_queue("q")
    assert [is_bound(row) for row in rows] == [False, True, False, False]
    vhost.delete_exchange("x")
    assert not any(is_bound(row) for row in rows)
