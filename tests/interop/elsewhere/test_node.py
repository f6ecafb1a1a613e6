"""The forced placement of queues."""

from __future__ import annotations

import pytest

from interop.elsewhere.node import ForcedPlacement
from reference_broker.cluster.definitions.placement import NodeRun
from reference_broker.cluster.membership.records import LiveRecord, NodeState
from reference_broker.core.exchange.definitions import QueueDefinition, encode_queue

LIVE = {"a": LiveRecord(3, NodeState.UP, ""), "b": LiveRecord(8, NodeState.UP, "")}


def home_of(
    live: dict[str, LiveRecord], *, durable: bool, exclusive: bool = False, locator: str = ""
) -> NodeRun:
    arguments = {"x-queue-leader-locator": locator} if locator else {}
    body = encode_queue(QueueDefinition(1, "q", False, arguments, durable, exclusive))
    placement = ForcedPlacement("b", NodeRun("a", 3), {"b": 9}, live, lambda vhost, queue: {})
    return placement.home_of("/", body, with_node=exclusive or not durable)


@pytest.mark.parametrize("locator", ["", "client-local", "balanced"])
def test_every_queue_has_its_home_there(locator: str) -> None:
    assert home_of(LIVE, durable=True, locator=locator) == NodeRun("b", 0)


def test_a_transient_one_ends_with_the_run_of_its_home() -> None:
    assert home_of(LIVE, durable=False) == NodeRun("b", 8)


def test_an_exclusive_one_is_where_its_connection_is() -> None:
    assert home_of(LIVE, durable=False, exclusive=True) == NodeRun("a", 3)


def test_while_that_node_is_gone_it_is_as_ever() -> None:
    assert home_of({"a": LIVE["a"]}, durable=True) == NodeRun("a", 0)
