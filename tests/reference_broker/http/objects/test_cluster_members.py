"""cluster_members: a member that is down is forgotten, and one that has to stay is not."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import pytest

from reference_broker.cluster.coordinator import Event, Refused, Won
from reference_broker.http.objects import cluster_members
from reference_broker.testing.apis.asgi_client import AsgiAnswer
from reference_broker.testing.apis.peer_apis import PeerApis

pytestmark = pytest.mark.anyio

FORGET = "/api/cluster/members/mqkit@{}/forget"


def _apis() -> PeerApis:
    """Node a, which is linked with b, and knows c, which is down and has two durable queues."""
    apis = PeerApis("a", "b")
    a = apis["a"]
    a.see_members("a", "b", "c")
    for name in ("q1", "q2"):
        apis.declare("c", name)
    return apis


async def _forget(apis: PeerApis, node: str, **body: Any) -> AsgiAnswer:
    return await apis.request("a", "POST", FORGET.format(node), json=body)


@pytest.mark.parametrize(
    ("node", "body", "status", "reason"),
    [
        ("d", {}, HTTPStatus.NOT_FOUND, "there is no node 'd' in the cluster"),
        ("a", {"accept_data_loss": True}, HTTPStatus.CONFLICT, "'a' can't forget itself"),
        ("b", {"accept_data_loss": True}, HTTPStatus.CONFLICT, "'b' is there: stop it"),
        ("c", {}, HTTPStatus.CONFLICT, "home of 2 durable queues"),
        ("c", {"accept_data_loss": False}, HTTPStatus.CONFLICT, "accept the data loss"),
        ("c", {"accept_data_loss": 1}, HTTPStatus.BAD_REQUEST, "must be true or false"),
    ],
)
async def test_a_node_that_has_to_stay(
    node: str, body: dict[str, Any], status: HTTPStatus, reason: str
) -> None:
    apis = _apis()
    answer = await _forget(apis, node, **body)
    assert answer.status_code == status
    assert reason in answer.json()["reason"]
    assert not apis["a"].etcd.asked


async def _asked(apis: PeerApis, asking: asyncio.Task[AsgiAnswer]) -> None:
    """Return when etcd is asked."""
    while not apis["a"].etcd.asked:
        assert not asking.done()
        await asyncio.sleep(0)


async def test_a_node_that_is_down_is_forgotten_and_the_answer_waits_for_its_queues() -> None:
    apis = _apis()
    a = apis["a"]
    asking = asyncio.create_task(_forget(apis, "c", accept_data_loss=True))
    await _asked(apis, asking)
    a.etcd.answer(Won(9))
    list(a.view.take([Event("members/c", None, 9)]))
    a.view.reach(9)
    vhost = a.broker.vhosts["/"]
    for number, name in enumerate(("q1", "q2"), 10):
        for _ in range(20):
            await asyncio.sleep(0)
        assert not asking.done()
        a.broker.work.start(vhost.leave_queue(vhost.queues[name]), "/")
        a.lone.complete()
        a.view.reach(number)
    answer = await asking
    assert answer.status_code == HTTPStatus.OK
    assert answer.json() == {"name": "mqkit@c", "queues": 2, "queues_left": 0}


async def test_an_answer_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_members, "EMPTIED_S", 0.01)
    apis = _apis()
    asking = asyncio.create_task(_forget(apis, "c", accept_data_loss=True))
    await _asked(apis, asking)
    apis["a"].etcd.answer(Won(9))
    apis["a"].view.reach(9)
    assert (await asking).json() == {"name": "mqkit@c", "queues": 2, "queues_left": 2}


async def test_without_etcd_the_reason_is_said() -> None:
    apis = _apis()
    asking = asyncio.create_task(_forget(apis, "c", accept_data_loss=True))
    await _asked(apis, asking)
    apis["a"].etcd.answer(Refused("no leader", lasting=True))
    answer = await asking
    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert "no leader" in answer.json()["reason"]


async def test_only_an_administrator_forgets() -> None:
    apis = _apis()
    apis["a"].add_user("mon", "secret", "monitoring")
    answer = await apis.request("a", "POST", FORGET.format("c"), json={}, auth=("mon", "secret"))
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
