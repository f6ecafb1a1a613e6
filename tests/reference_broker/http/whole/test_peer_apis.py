"""Two and three brokers whose management APIs are joined by links: each answers for all of them."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire.methods import BasicConsume
from reference_broker.testing.peer_apis import PeerApis

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _names(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["name"], row["node"]) for row in rows]


async def test_queues_are_those_of_all_nodes_with_counts_of_their_homes() -> None:
    apis = PeerApis("a", "b", "c")
    for number, home in enumerate("cab"):
        apis.declare(home, f"q{number}")
    apis["c"].lone.client().publish("q0", b"body")
    for at in "abc":
        answer = await apis.get(at, "/api/queues")
        assert _names(answer.json()) == [("q0", "mqkit@c"), ("q1", "mqkit@a"), ("q2", "mqkit@b")]
        assert [row["messages"] for row in answer.json()] == [1, 0, 0]
        assert [row["state"] for row in answer.json()] == ["running"] * 3
        assert "x-mqkit-unreachable" not in answer.headers
    assert all(not home.asked for node in apis.nodes.values() for home in node.homes.values())
