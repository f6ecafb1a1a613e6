"""The modes of acking, and what they do not go with."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.consumer.acks.consumers import CONSUMERS
from mqkit.consumer.acks.mode import AckMode, check_ack
from mqkit.errors import ConfigurationError
from mqkit.topology import loads

TOPOLOGY = loads("queues:\n  plain: {}\n  retried: {retry: {after: [1s], then: park}}\n")


@pytest.mark.parametrize("ack", ["after", "before", "manual", "none"])
def test_each_mode_has_a_consumer(ack: str) -> None:
    assert check_ack(ack, "plain", TOPOLOGY.queue("plain")) == ack
    assert check_ack(ack, "unknown", None) == ack
    assert CONSUMERS[AckMode(ack)] is not None


@pytest.mark.parametrize("ack", ["never", "", None, True])
def test_another_word_is_refused_and_the_modes_are_said(ack: Any) -> None:
    with pytest.raises(ConfigurationError, match='"after", "before", "manual", "none"'):
        check_ack(ack, "plain", None)


def test_an_ack_before_the_handler_does_not_go_with_a_retry_policy() -> None:
    for ack in ("before", "none"):
        with pytest.raises(ConfigurationError, match="policy of retried would never be used"):
            check_ack(ack, "retried", TOPOLOGY.queue("retried"))
    assert check_ack("manual", "retried", TOPOLOGY.queue("retried")) is AckMode.MANUAL


def test_without_acks_there_is_no_prefetch() -> None:
    with pytest.raises(ConfigurationError, match="a prefetch bounds nothing"):
        check_ack("none", "plain", None, prefetch=10)
    assert check_ack("none", "plain", None, prefetch=None) is AckMode.NONE
