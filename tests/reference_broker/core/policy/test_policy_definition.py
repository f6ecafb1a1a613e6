"""Policies in the journal: what comes back, and what can't be read."""

from __future__ import annotations

import json
import struct

import pytest

from reference_broker.core.policy.policy import Policy, PolicyKind
from reference_broker.core.policy.policy_definition import (
    decode_policy,
    encode_policy,
    policy_key,
    stored_policies,
)
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.errors import Corrupt

VALUE = {
    "pattern": "^é.*$",
    "definition": {"ha-mode": "nodes", "ha-params": ["a"], "max-length": 10**30},
    "priority": 1.5,
    "apply-to": "classic_queues",
}


def made(name: str = "é/ü", number: int = 7 << 32) -> Policy:
    return Policy(name, *PolicyWish.parse(PolicyKind.USER, name, VALUE), number)


def test_it_comes_back_as_it_was() -> None:
    policy = made()
    back = decode_policy(PolicyKind.USER, encode_policy(policy))
    assert (back.name, back.pattern.text, back.apply_to, back.priority, back.number) == (
        "é/ü",
        "^é.*$",
        "classic_queues",
        1.5,
        7 << 32,
    )
    assert back.definition == VALUE["definition"]


def test_those_of_one_kind_and_virtual_host() -> None:
    places = [
        (PolicyKind.USER, "/", "a/b"),
        (PolicyKind.USER, "/x", "c"),
        (PolicyKind.OPERATOR, "/", "d"),
    ]
    value = encode_policy(made())
    definitions = {policy_key(*place): value for place in places} | {"queue/%2F/q": b"?"}
    assert len(definitions) == 4
    for kind, vhost, _ in places[:2]:
        assert len(list(stored_policies(kind, vhost, definitions))) == 1
    with pytest.raises(Corrupt, match="ha-mode"):  # which no operator policy has
        list(stored_policies(PolicyKind.OPERATOR, "/", definitions))


HEAD = struct.pack(">BQ", 1, 5)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x01",
        struct.pack(">BQ", 2, 5) + encode_policy(made())[9:],
        HEAD,
        HEAD + b"[]",
        HEAD + b"{}",
        HEAD + b"\xff",
        HEAD + json.dumps({**VALUE, "name": "p", "pattern": "("}).encode(),
    ],
)
def test_what_can_not_be_read(value: bytes) -> None:
    with pytest.raises(Corrupt, match="policy"):
        decode_policy(PolicyKind.USER, value)
