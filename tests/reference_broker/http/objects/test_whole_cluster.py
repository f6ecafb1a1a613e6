"""whole_cluster: the overview out of those of all nodes, also of nodes that say something else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from reference_broker.http.objects.whole_cluster import member_of
from reference_broker.http.request.peers import KIND
from reference_broker.testing.apis.peer_apis import PeerApis

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("status", "body"),
    [(401, b"{}"), (200, b"no JSON"), (200, b"{}"), (200, b'{"object_totals": {}}'), (200, b"[]")],
)
async def test_a_node_that_is_not_understood_is_not_in_the_sums(status: int, body: bytes) -> None:
    def answer(
        node: str, arguments: dict[str, Any], reply: Callable[[dict[str, Any], bytes], None]
    ) -> None:
        reply({"status": status, "cut": False}, body)

    apis = PeerApis("a", "b")
    apis["b"].peers.answer_with(KIND, answer)
    apis["a"].lone.client()
    row = (await apis.get("a", "/api/overview")).json()
    assert row["unreachable"] == ["mqkit@b"]
    assert row["object_totals"]["connections"] == 1


async def test_queues_that_come_and_go_are_not_counted_twice() -> None:
    apis = PeerApis("a", "b")
    for name in "ab":
        apis[name].broker.vhosts["/"].traffic.queues_created = 5
        apis[name].broker.vhosts["/"].traffic.channels_opened = 7
    row = (await apis.get("a", "/api/overview")).json()
    assert row["churn_rates"]["queue_created"] == 5
    assert row["churn_rates"]["channel_created"] == 14
    assert [each["node"] for each in row["listeners"]] == []
    assert json.dumps(row["churn_rates"]["queue_created_details"]) == '{"rate": 0.0}'


def test_the_member_that_clients_see_under_a_name() -> None:
    peers = PeerApis("a", "b")["a"].peers
    assert member_of(peers, "mqkit@b") == "b"
    assert member_of(peers, "mqkit@a") is None
    assert member_of(peers, "b") is None
