"""The order of policies, and which one applies."""

from __future__ import annotations

from reference_broker.core.policy.policy import Policy, PolicyKind
from reference_broker.core.policy.policy_table import PolicyTable
from reference_broker.core.policy.policy_validation import PolicyWish


def policy(name: str, priority: float, number: int, pattern: str = "", **definition: int) -> Policy:
    definition = {"max-length": 1, **{key.replace("_", "-"): n for key, n in definition.items()}}
    value = {"pattern": pattern, "definition": definition, "priority": priority}
    return Policy(name, *PolicyWish.parse(PolicyKind.USER, name, value), number)


def test_the_highest_priority_and_then_the_oldest_is_first() -> None:
    table = PolicyTable()
    for made in (
        policy("young", 1, 9),
        policy("low", -1, 1),
        policy("old", 1, 2),
        policy("half", 1.5, 5),
    ):
        table.put(made)
    assert [made.name for made in table] == ["half", "old", "young", "low"]
    table.put(policy("half", -2, 5))
    assert [made.name for made in table] == ["old", "young", "low", "half"]
    assert len(table) == 4
    removed = table.remove("old")
    assert removed is not None
    assert removed.name == "old"
    assert table.remove("old") is None
    assert table.get("old") is None
    assert [made.name for made in table] == ["young", "low", "half"]


def test_the_best_that_covers_applies() -> None:
    table = PolicyTable()
    table.put(policy("all", 0, 1))
    table.put(policy("orders", 5, 2, "^orders"))
    table.put(policy("quorum", 9, 3, delivery_limit=5))

    def best(name: bytes, type: str = "classic") -> str | None:
        found = table.best_for_queue(name, type)
        return None if found is None else found.name

    assert (best(b"orders.new"), best(b"bills"), best(b"bills", "quorum")) == (
        "orders",
        "all",
        "quorum",
    )
    table.remove("all")
    assert best(b"bills") is None
    found = table.best_for_exchange(b"bills")
    assert found is not None
    assert found.name == "quorum"
