"""single_active: homes are asked for the active ones among the consumers of other nodes, once, and
only where there are any. Lists of all nodes are in whole/test_peer_apis.py."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire.methods import BasicConsume
from reference_broker.core.queue.ports import AttachedFrom
from reference_broker.http.objects import single_active
from reference_broker.http.objects.single_active import ACTIVE, ORIGIN, PART
from reference_broker.http.request import peers
from reference_broker.testing.apis.peer_apis import PeerApis
from reference_broker.testing.lone_queue import LoneConsumer

pytestmark = pytest.mark.anyio

SINGLE = {"x-single-active-consumer": True}


def _apis() -> PeerApis:
    """Two queues of ``b``, each with a consumer of ``a``, which is the active one of the first."""
    apis = PeerApis("a", "b", "c")
    client = apis["a"].lone.client()
    for number, name in enumerate(("first", "second"), 1):
        apis.declare("b", name, arguments=SINGLE)
        if name == "second":
            _attach(apis, name, AttachedFrom("c", 1))
        client.send(1, BasicConsume(name, name))
        apis["a"].lone.take(apis["a"].homes["b"].takers[number].attached)
        _attach(apis, name, AttachedFrom("a", number))
    return apis


def _attach(apis: PeerApis, name: str, origin: AttachedFrom) -> None:
    queue = apis["b"].broker.vhosts["/"].queues[name]
    apis["b"].lone.take(lambda: queue.add_consumer(LoneConsumer(attached_from=origin)))


async def _asked(apis: PeerApis, only: list[tuple[str, str]] | None) -> list[dict[str, Any]]:
    arguments: dict[str, Any] = {
        "method": "GET",
        "path": "/api/consumers",
        "query": [(PART, ACTIVE)],
        "user": "guest",
        "headers": {},
    }
    if only is not None:
        arguments["only"] = only
    return await apis.ask_for_rows("a", "b", arguments)


def _active(rows: list[dict[str, Any]]) -> dict[str, bool]:
    return {row["consumer_tag"]: row["active"] for row in rows}


async def test_a_home_tells_the_active_ones_of_the_queues_that_it_is_asked_for() -> None:
    apis = _apis()
    apis["b"].lone.client().send(1, BasicConsume("none", "none"))
    first = {"vhost": "/", "name": "first", ORIGIN: ["a", 1]}
    second = {"vhost": "/", "name": "second", ORIGIN: ["c", 1]}
    assert await _asked(apis, None) == [first, second]
    assert await _asked(apis, [("/", "second"), ("/", "none"), ("none", "first")]) == [second]


async def test_the_active_one_of_another_node_is_not_taken_for_ones_own() -> None:
    apis = _apis()
    for at in "abc":
        rows = (await apis.get(at, "/api/consumers")).json()
        assert _active(rows) == {"first": True, "second": False}


async def test_of_many_queues_the_home_is_asked_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_active, "ONLY_MAX", 1)
    apis = _apis()
    rows = (await apis.get("c", "/api/consumers")).json()
    assert _active(rows) == {"first": True, "second": False}


async def test_nobody_is_asked_for_queues_without_a_single_active_consumer() -> None:
    apis = PeerApis("a", "b")
    apis.declare("b", "q")
    apis["a"].lone.client().send(1, BasicConsume("q", "tag"))
    apis["a"].lone.take(apis["a"].homes["b"].takers[1].attached)
    name = (await apis.get("a", "/api/channels")).json()[0]["name"]
    apis.cut("a", "b")
    answer = await apis.get("a", f"/api/channels/{name}")
    (row,) = answer.json()["consumer_details"]
    assert (row["active"], row["activity_status"]) == (True, "up")
    assert peers.UNREACHABLE not in answer.headers


async def test_a_home_that_does_not_say_is_named() -> None:
    apis = _apis()
    name = (await apis.get("a", "/api/channels")).json()[0]["name"]
    apis.cut("a", "b")
    answer = await apis.get("a", f"/api/channels/{name}")
    assert _active(answer.json()["consumer_details"]) == {"first": False, "second": False}
    assert answer.headers[peers.UNREACHABLE] == "mqkit@b"
