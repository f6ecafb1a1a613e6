"""A policy as queues."""

from __future__ import annotations

import pytest

from mqkit.declaration import Queue
from mqkit.retry import RetryPolicy, Then, compile_policy


def test_one_queue_per_tier_that_returns_to_the_failed_queue_only_and_a_parking_lot() -> None:
    first, second, lot = compile_policy("delays", RetryPolicy.of("1s", "1s", "5m"))
    assert first == Queue(
        "delays.retry.1s",
        arguments={
            "x-message-ttl": 1_000,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": "delays",
        },
    )
    assert second.name == "delays.retry.5m"
    assert lot == Queue("delays.parked")


def test_no_parking_lot_when_the_policy_drops() -> None:
    (tier,) = compile_policy("delays", RetryPolicy.of("1s", then=Then.DROP))
    assert tier.name == "delays.retry.1s"


@pytest.mark.parametrize("quorum", [False, True])
def test_all_are_durable_and_none_can_lose_by_a_limit(quorum: bool) -> None:
    for queue in compile_policy("delays", RetryPolicy.of("1s", "5s"), quorum=quorum):
        assert queue.durable
        assert not queue.exclusive
        assert not queue.auto_delete
        assert not {"x-max-length", "x-max-length-bytes", "x-expires"} & set(queue.arguments)


def test_the_queues_of_a_quorum_queue_are_quorum_queues_that_hand_over_safely() -> None:
    tier, lot = compile_policy("delays", RetryPolicy.of("1s"), quorum=True)
    assert tier.arguments["x-queue-type"] == "quorum"
    assert tier.arguments["x-dead-letter-strategy"] == "at-least-once"
    assert tier.arguments["x-overflow"] == "reject-publish"
    assert lot.arguments == {"x-queue-type": "quorum", "x-delivery-limit": 2**31 - 1}
