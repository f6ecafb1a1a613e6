"""A migration as JSON, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mqkit.declaration import Binding, Queue
from mqkit.topology.migration.migration import Direction, Held, Migration

MIGRATION = Migration(
    "/shop",
    Queue("orders", durable=False),
    Queue("orders", arguments={"x-queue-type": "quorum", "x-max-length": 5}),
    Queue("orders.migrating"),
    (Binding("shop", "orders", "a.#", arguments={"x-match": "all"}),),
    (Held(Queue("orders.wait"), Queue("orders.wait.migrating")),),
    wanted_rejects=True,
)


def test_it_is_the_same_after_json() -> None:
    assert Migration.from_dict(json.loads(json.dumps(MIGRATION.to_dict()))) == MIGRATION


def test_the_target_is_the_direction_s() -> None:
    assert MIGRATION.target(Direction.FORWARD) == MIGRATION.wanted
    assert MIGRATION.target(Direction.BACK) == MIGRATION.old
    assert MIGRATION.rejects(Direction.FORWARD)
    assert not MIGRATION.rejects(Direction.BACK)


def test_a_binding_is_added_once() -> None:
    binding = Binding("shop", "orders", "new")
    once = MIGRATION.with_binding(binding)
    assert once.bindings == (*MIGRATION.bindings, binding)
    assert once.with_binding(binding) == once


@pytest.mark.parametrize(
    "change", [{"wanted": {}}, {"old": 3}, {"temporary": {**MIGRATION.to_dict()["old"]}}]
)
def test_a_damaged_one_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Migration.from_dict({**MIGRATION.to_dict(), **change})
