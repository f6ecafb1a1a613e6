"""Policies: what they are for, and what two of them come to."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.policy.policy import (
    NO_POLICIES,
    AppliedPolicies,
    Policy,
    PolicyKind,
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
