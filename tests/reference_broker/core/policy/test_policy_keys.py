"""The keys of policies: every one is known by what it takes, and by whom."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.policy.policy_keys import MIRRORING_KEYS, POLICY_KEYS

OF_OPERATORS = {
    "message-ttl", "expires", "max-length", "max-length-bytes", "max-in-memory-length",
    "max-in-memory-bytes", "delivery-limit",
}  # fmt: skip


def test_operators_have_the_numbers() -> None:
    assert {key for key, known in POLICY_KEYS.items() if known.of_operators} == OF_OPERATORS
    for key in OF_OPERATORS:
        wrong: list[Any] = ["5", 5.0, True, None, [], {}]
        assert [value for value in wrong if POLICY_KEYS[key].valid(value)] == []


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("message-ttl", [0, 10**30], [-1]),
        ("expires", [1, 10**30], [0]),
        ("max-length", [0, 10**30], [-1]),
        ("delivery-limit", [0], [-1]),
        ("overflow", ["drop-head", "reject-publish", "reject-publish-dlx"], ["foo", 5, None]),
        ("dead-letter-exchange", ["", "x", "é" * 127], [5, None, "x" * 256, "\ud800"]),
        ("dead-letter-routing-key", ["", "x"], [5, "x" * 256]),
        ("dead-letter-strategy", ["at-most-once", "at-least-once"], ["foo"]),
        ("alternate-exchange", ["x"], [5, "x" * 256]),
        ("queue-mode", ["default", "lazy"], ["foo"]),
        ("queue-version", [1, 2], [3, "1", True, 1.0]),
        ("queue-master-locator", ["min-masters", "client-local", "random"], ["x"]),
        ("queue-leader-locator", ["client-local", "balanced"], ["x"]),
        ("initial-cluster-size", [0], [-1]),
        ("max-age", ["5D", "1Y"], ["5", "xD", 5, "D"]),
        ("stream-max-segment-size-bytes", [0], [-1]),
    ],
)
def test_values(key: str, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not POLICY_KEYS[key].valid(value)] == []
    assert [value for value in bad if POLICY_KEYS[key].valid(value)] == []


def test_which_keys_keep_a_policy_from_a_queue() -> None:
    """As measured on RabbitMQ 3.10.8, with a policy of each key alone."""
    of_streams = ["initial-cluster-size", "max-age", "stream-max-segment-size-bytes"]

    def unsuited(type: str) -> list[str]:
        return sorted(key for key, known in POLICY_KEYS.items() if type in known.unsuited)

    of_quorum = ["dead-letter-strategy", "delivery-limit", "queue-leader-locator"]
    of_classic = ["queue-master-locator", "queue-mode", *MIRRORING_KEYS]
    assert unsuited("classic") == sorted(of_streams + of_quorum)
    assert unsuited("quorum") == sorted(of_streams + of_classic)
