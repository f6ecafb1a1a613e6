"""The home of a queue that is declared."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.cluster.definitions.placement import NodeRun, Placement
from reference_broker.cluster.membership.records import LiveRecord, NodeState
from reference_broker.core.exchange.definitions import QueueDefinition, encode_queue

LIVE = {name: LiveRecord(7, NodeState.UP, "") for name in ("a", "b", "c", "m", "n")}
HOMES = {"a": 3, "b": 2, "c": 1, "m": 3, "n": 3}
BALANCED = encode_queue(QueueDefinition(1, "q", False, {"x-queue-leader-locator": "balanced"}))


def no_policies(vhost: str, queue: QueueDefinition) -> dict[str, Any]:
    return {}


def home_for(
    arguments: dict[str, Any], *, with_node: bool = False, policies: dict[str, Any] | None = None
) -> NodeRun:
    def policies_for(vhost: str, queue: QueueDefinition) -> dict[str, Any]:
        assert (vhost, queue.name) == ("v", "q")
        return policies or {}

    body = encode_queue(QueueDefinition(1, "q", False, arguments))
    return Placement(NodeRun("b", 4), HOMES, LIVE, policies_for).home_of(
        "v", body, with_node=with_node
    )


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


@pytest.mark.parametrize(
    ("arguments", "policies", "home"),
    [
        ({}, {"queue-leader-locator": "balanced"}, "c"),
        ({}, {"queue-master-locator": "min-masters"}, "c"),
        ({}, {"queue-master-locator": "client-local"}, "b"),
        ({}, {"max-length": 3}, "b"),
        (
            {"x-queue-leader-locator": "client-local"},
            {"queue-leader-locator": "balanced"},
            "b",
        ),
        (
            {"x-queue-master-locator": "min-masters"},
            {"queue-master-locator": "client-local"},
            "c",
        ),
    ],
)
def test_without_an_argument_the_policy_decides(
    arguments: dict[str, Any], policies: dict[str, Any], home: str
) -> None:
    assert home_for(arguments, policies=policies) == NodeRun(home, 0)
    assert home_for(arguments, policies=policies, with_node=True) == NodeRun("b", 4)


def test_what_ends_with_its_node_is_where_its_client_is() -> None:
    assert home_for({"x-queue-master-locator": "min-masters"}, with_node=True) == NodeRun("b", 4)


def test_a_node_without_queues_comes_first_and_of_several_the_first_by_name() -> None:
    placement = Placement(NodeRun("z", 4), dict.fromkeys("abc", 1), LIVE, no_policies)
    assert placement.home_of("v", BALANCED, with_node=False) == NodeRun("m", 0)


def test_a_node_that_is_draining_gets_none() -> None:
    draining = LiveRecord(7, NodeState.DRAINING, "")
    live = {**LIVE, "c": draining, "b": draining}
    plain = encode_queue(QueueDefinition(1, "q", False, {}))
    homes = {"a": 3, "b": 2, "c": 1, "m": 2, "n": 3}
    placement = Placement(NodeRun("b", 4), homes, live, no_policies)
    for body in (BALANCED, plain):
        assert placement.home_of("v", body, with_node=False) == NodeRun("m", 0)
        assert placement.home_of("v", body, with_node=True) == NodeRun("b", 4)
    elsewhere = Placement(NodeRun("m", 4), homes, live, no_policies)
    assert elsewhere.home_of("v", plain, with_node=False) == NodeRun("m", 0)
    everywhere = Placement(NodeRun("b", 4), homes, dict.fromkeys("bc", draining), no_policies)
    assert everywhere.home_of("v", BALANCED, with_node=False) == NodeRun("b", 0)


def test_a_node_that_is_not_there_gets_none() -> None:
    placement = Placement(NodeRun("b", 4), {"b": 9}, {}, no_policies)
    assert placement.home_of("v", BALANCED, with_node=False) == NodeRun("b", 0)
