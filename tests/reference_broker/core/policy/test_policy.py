"""Policies: what they are for, and what two of them come to."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.policy.policy import (
    NO_POLICIES,
    AppliedPolicies,
    Policy,
    PolicyKind,
    PolicyTable,
    octets,
)
from reference_broker.core.policy.policy_validation import PolicyWish


def policy(
    definition: dict[str, Any], kind: PolicyKind = PolicyKind.USER, apply_to: str = "all"
) -> Policy:
    value = {"pattern": "^q", "definition": definition, "apply-to": apply_to}
    return Policy("p", *PolicyWish.parse(kind, "p", value), 1)


@pytest.mark.parametrize(
    ("apply_to", "classic", "quorum", "exchange"),
    [
        ("all", True, True, True),
        ("queues", True, True, False),
        ("classic_queues", True, False, False),
        ("quorum_queues", False, True, False),
        ("streams", False, False, False),
        ("exchanges", False, False, True),
    ],
)
def test_what_it_is_for(apply_to: str, classic: bool, quorum: bool, exchange: bool) -> None:
    made = policy({"max-length": 5}, apply_to=apply_to)
    assert made.covers_queue(b"q", "classic") is classic
    assert made.covers_queue(b"q", "quorum") is quorum
    assert made.covers_exchange(b"q") is exchange
    for name in (b"x", b"aq"):
        assert not made.covers_queue(name, "classic")
        assert not made.covers_exchange(name)


def test_a_key_of_another_queue_type() -> None:
    made = policy({"max-length": 5, "delivery-limit": 3})
    assert not made.covers_queue(b"q", "classic")
    assert made.covers_queue(b"q", "quorum")
    assert made.covers_exchange(b"q")


def test_the_smaller_number_holds() -> None:
    user = policy({"max-length": 20, "expires": 5, "overflow": "reject-publish"})
    operator = policy({"max-length": 5, "expires": 9, "message-ttl": 7}, PolicyKind.OPERATOR)
    assert AppliedPolicies(user, operator).definition() == {
        "max-length": 5, "expires": 5, "overflow": "reject-publish", "message-ttl": 7,
    }  # fmt: skip
    assert AppliedPolicies(user).definition() == user.definition
    assert AppliedPolicies(None, operator).definition() == operator.definition
    assert NO_POLICIES.definition() == {}


def test_a_name_that_is_no_utf_8() -> None:
    name = b"q\xff"
    assert octets(name.decode(errors="surrogateescape")) == name


def ranked(name: str, priority: float, number: int, pattern: str = "", **definition: int) -> Policy:
    definition = {"max-length": 1, **{key.replace("_", "-"): n for key, n in definition.items()}}
    value = {"pattern": pattern, "definition": definition, "priority": priority}
    return Policy(name, *PolicyWish.parse(PolicyKind.USER, name, value), number)


def test_the_highest_priority_and_then_the_oldest_is_first() -> None:
    table = PolicyTable()
    for made in (
        ranked("young", 1, 9),
        ranked("low", -1, 1),
        ranked("old", 1, 2),
        ranked("half", 1.5, 5),
    ):
        table.put(made)
    assert [made.name for made in table] == ["half", "old", "young", "low"]
    table.put(ranked("half", -2, 5))
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
    table.put(ranked("all", 0, 1))
    table.put(ranked("orders", 5, 2, "^orders"))
    table.put(ranked("quorum", 9, 3, delivery_limit=5))

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
