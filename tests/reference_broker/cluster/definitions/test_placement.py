"""The home of a queue that is declared."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.cluster.definitions.placement import Placement
from reference_broker.core.exchange.definitions import QueueDefinition, encode_queue

PLACEMENT = Placement("b", {"a": 3, "b": 2, "c": 1}, ("a", "b", "c"))


def home_for(arguments: dict[str, Any], *, with_node: bool = False) -> str:
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
    assert home_for(arguments) == home


def test_what_ends_with_its_node_is_where_its_client_is() -> None:
    assert home_for({"x-queue-master-locator": "min-masters"}, with_node=True) == "b"


def test_a_node_without_queues_comes_first_and_of_several_the_first_by_name() -> None:
    placement = Placement("z", {"a": 1}, ("a", "n", "m", "z"))
    body = encode_queue(QueueDefinition(1, "q", False, {"x-queue-leader-locator": "balanced"}))
    assert placement.home_of(body, with_node=False) == "m"


def test_a_node_that_is_not_there_gets_none() -> None:
    placement = Placement("b", {"b": 9}, ())
    body = encode_queue(QueueDefinition(1, "q", False, {"x-queue-leader-locator": "balanced"}))
    assert placement.home_of(body, with_node=False) == "b"
