"""Policies, and lists of keys, as they are read."""

from __future__ import annotations

from mqkit.topology import loads
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel


def test_a_policy_is_read_with_its_lines() -> None:
    text = (
        "policies:\n  p:\n    pattern: ^a\n    apply_to: queues\n    priority: 1.5\n"
        "    definition: {max-length: 5, ha-params: [1, {a: b}]}\n  q: {pattern: '', definition: "
        "{expires: 1}}\n"
    )
    first, second = loads(text).policies
    definition = {"max-length": 5, "ha-params": [1, {"a": "b"}]}
    assert first == PolicyModel("p", "^a", ApplyTo.QUEUES, 1.5, definition)
    assert (first.line, first.line_of("priority"), first.line_of("nothing")) == (2, 5, 2)
    assert second == PolicyModel("q", "", ApplyTo.ALL, 0, {"expires": 1})


def test_the_order_of_the_listed_keys_is_kept() -> None:
    text = "queues: {q: {expires: 1s, message_ttl: 1s, via_policy: [expires, message_ttl]}}"
    assert loads(text).queues[0].via_policy == ("expires", "message_ttl")
