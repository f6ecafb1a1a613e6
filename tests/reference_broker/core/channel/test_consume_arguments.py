"""The arguments of basic.consume; the texts are those of RabbitMQ 3.10.8, where it knows them."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.arguments.requeue_position import RequeuePosition, RequeueRule
from reference_broker.core.channel.consume_arguments import ConsumeArguments
from reference_broker.core.queue.weighted_ring import WEIGHT_MAX
from reference_broker.errors import ChannelException

WHERE = "queue 'q' in vhost '/'"

INVALID: list[tuple[dict[str, Any], str]] = [
    ({"x-priority": "1"}, "'x-priority' for {}: \"expected integer, got longstr\""),
    ({"x-priority": 1.5}, "'x-priority' for {}: \"expected integer, got double\""),
    ({"x-priority": True}, "'x-priority' for {}: \"expected integer, got bool\""),
    ({"x-priority": None}, "'x-priority' for {}: \"expected integer, got void\""),
    (
        {"x-cancel-on-ha-failover": "a"},
        "'x-cancel-on-ha-failover' for {}: {{unacceptable_type,longstr}}",
    ),
    ({"x-stream-offset": "first"}, "'x-stream-offset' for {} of queue type rabbit_classic_queue"),
    ({"x-consumer-timeout": 0}, "'x-consumer-timeout' for {}: {{value_zero,0}}"),
    ({"x-consumer-timeout": -1}, "'x-consumer-timeout' for {}: {{value_negative,-1}}"),
    ({"x-weight": 0}, "'x-weight' for {}: {{value_zero,0}}"),
    ({"x-weight": WEIGHT_MAX + 1}, "'x-weight' for {}: {{value_too_large,1001}}"),
    ({"x-requeue-position": "up"}, "'x-requeue-position' for {}: invalid_requeue_position"),
]


@pytest.mark.parametrize(("arguments", "text"), INVALID)
def test_refusals(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ChannelException) as refusal:
        ConsumeArguments.parse(arguments, WHERE, "rabbit_classic_queue")
    assert refusal.value.code == 406
    assert refusal.value.text == "invalid arg " + text.format(WHERE)


def test_what_is_asked_for_is_kept_and_the_rest_is_ignored() -> None:
    arguments = {
        "x-priority": -(1 << 40),
        "x-weight": 3,
        "x-consumer-timeout": 500,
        "x-requeue-position": "back",
        "x-requeue-delay": 10,
        "x-cancel-on-ha-failover": True,
        "x-foo": 1,
    }
    assert ConsumeArguments.parse(arguments, WHERE, "") == ConsumeArguments(
        -(1 << 40), 3, 500, RequeueRule(RequeuePosition.BACK, delay_ms=10)
    )
    assert ConsumeArguments.parse({}, WHERE, "") == ConsumeArguments()
