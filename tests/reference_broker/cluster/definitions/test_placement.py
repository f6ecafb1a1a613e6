"""The home of a queue that is declared."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.cluster.definitions.placement import NodeRun, Placement
from reference_broker.cluster.membership.records import LiveRecord, NodeState
from reference_broker.core.exchange.definitions import QueueDefinition, encode_queue

LIVE = {name: LiveRecord(7, NodeState.UP, "") for name in ("a", "b", "c", "m", "n")}
PLACEMENT = Placement(NodeRun("b", 4), {"a": 3, "b": 2, "c": 1, "m": 3, "n": 3}, LIVE)


def home_for(arguments: dict[str, Any], *, with_node: bool = False) -> NodeRun:
    body = encode_queue(QueueDefinition(1, "q", False, arguments))
    return PLACEMENT.home_of(body, with_node=with_node)


@pytest.mark.parametrize(
    ("arguments", "home"),
    [
        ({}, "b"),
        ({"x-queue-leader-locator": "client-local"}, "b"),
        ({"x-queue-leader-locator": "balanced"}, "c"),
        ({"x-queue-leader-locator": "random"}, "c"),
        ({"x-queue-master-locator": "min-masters"}, "c"),
        ({"x-queue-master-locator": "client-local"}, "b"),
    ],
)
def test_the_locator_decides(arguments: dict[str, Any], home: str) -> None:
    assert home_for(arguments) == NodeRun(home, 0)


def test_what_ends_with_its_node_is_where_its_client_is() -> None:
    assert home_for({"x-queue-master-locator": "min-masters"}, with_node=True) == NodeRun("b", 4)


def test_a_node_without_queues_comes_first_and_of_several_the_first_by_name() -> None:
    placement = Placement(NodeRun("z", 4), dict.fromkeys("abc", 1), LIVE)
    body = encode_queue(QueueDefinition(1, "q", False, {"x-queue-leader-locator": "balanced"}))
    assert placement.home_of(body, with_node=False) == NodeRun("m", 0)


def test_a_node_that_is_not_there_gets_none() -> None:
    placement = Placement(NodeRun("b", 4), {"b": 9}, {})
    body = encode_queue(QueueDefinition(1, "q", False, {"x-queue-leader-locator": "balanced"}))
    assert placement.home_of(body, with_node=False) == NodeRun("b", 0)
