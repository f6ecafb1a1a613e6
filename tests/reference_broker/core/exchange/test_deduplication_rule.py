"""seen_rule: what arguments ask for, and what messages are known by."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.arguments.queue_arguments import MAX_EXPIRY_MS
from reference_broker.core.exchange.deduplication_rule import WINDOW_MAX, DeduplicationRule
from reference_broker.core.exchange.exchange import ExchangeType
from reference_broker.core.message.message_headers import NO_HEADERS, MessageHeaders
from reference_broker.errors import ChannelException

DEDUPLICATION = ExchangeType.DEDUPLICATION
TOPIC = ExchangeType.TOPIC


def message(**properties: Any) -> MessageHeaders:
    return MessageHeaders(encode_header(0, Properties(**properties)))


@pytest.mark.parametrize(
    ("type", "arguments", "rule"),
    [
        (TOPIC, {}, None),
        (TOPIC, {"x-cache-size": 5}, None),
        (TOPIC, {"x-message-id-window": 5}, DeduplicationRule(True, 5, 600_000)),
        (TOPIC, {"x-message-id-window-ms": 5}, DeduplicationRule(True, 10_000, 5)),
        (DEDUPLICATION, {"x-cache-size": 7}, DeduplicationRule(False, 7, MAX_EXPIRY_MS)),
        (DEDUPLICATION, {"x-cache-size": "7", "x-cache-ttl": "9"}, DeduplicationRule(False, 7, 9)),
        (
            DEDUPLICATION,
            {"x-cache-size": 7, "x-cache-persistence": "memory"},
            DeduplicationRule(False, 7, MAX_EXPIRY_MS, in_log=False),
        ),
    ],
)
def test_what_arguments_ask_for(
    type: ExchangeType, arguments: dict[str, Any], rule: DeduplicationRule | None
) -> None:
    assert DeduplicationRule.of(type, arguments) == rule


SIZE = "Missing or invalid argument, 'x-cache-size' must be an integer greater than 0"


@pytest.mark.parametrize(
    ("type", "arguments", "text"),
    [
        (DEDUPLICATION, {}, SIZE),
        (DEDUPLICATION, {"x-cache-size": 0}, SIZE),
        (DEDUPLICATION, {"x-cache-size": "x"}, SIZE),
        (DEDUPLICATION, {"x-cache-size": True}, SIZE),
        (
            DEDUPLICATION,
            {"x-cache-size": WINDOW_MAX + 1},
            "Missing or invalid argument, 'x-cache-size' must be 1000000 at most",
        ),
        (
            DEDUPLICATION,
            {"x-cache-size": 1, "x-cache-ttl": -1},
            "Invalid argument, 'x-cache-ttl' must be an integer greater than 0",
        ),
        (
            DEDUPLICATION,
            {"x-cache-size": 1, "x-cache-persistence": "tape"},
            "Invalid argument, 'x-cache-persistence' must be either 'disk' or 'memory'",
        ),
        (
            TOPIC,
            {"x-message-id-window": 0},
            "Invalid argument, 'x-message-id-window' must be an integer greater than 0",
        ),
        (
            TOPIC,
            {"x-message-id-window-ms": 10**12},
            f"Invalid argument, 'x-message-id-window-ms' must be {MAX_EXPIRY_MS} at most",
        ),
    ],
)
def test_what_is_refused(type: ExchangeType, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ChannelException) as caught:
        DeduplicationRule.of(type, arguments)
    assert caught.value.reply_text == f"PRECONDITION_FAILED - {text}"


def test_by_header_of_any_type() -> None:
    rule = DeduplicationRule(False, 10, 1000)
    values = ["1", 1, 1.0, True, [1], {"a": 1}]
    keys = [rule.key_of(message(headers={"x-deduplication-header": v})) for v in values]
    assert len(set(keys)) == len(values)
    again = message(headers={"other": 1, "x-deduplication-header": "1"}, message_id="m")
    assert rule.key_of(again) == keys[0]
    assert rule.key_of(message(message_id="m")) is None
    assert rule.key_of(NO_HEADERS) is None


def test_by_message_id() -> None:
    rule = DeduplicationRule(True, 10, 1000)
    assert rule.key_of(message(message_id="a")) == rule.key_of(message(message_id="a", priority=1))
    assert rule.key_of(message(message_id="a")) != rule.key_of(message(message_id="b"))
    assert rule.key_of(message(headers={"x-deduplication-header": "a"})) is None


@pytest.mark.parametrize(
    ("own", "expected"), [(5, 5), ("5", 5), (0, 1000), ("x", 1000), (10**15, MAX_EXPIRY_MS)]
)
def test_a_message_may_bring_its_time_with_the_header(own: Any, expected: int) -> None:
    of_message = message(headers={"x-cache-ttl": own})
    assert DeduplicationRule(False, 10, 1000).ttl_of(of_message) == expected
    assert DeduplicationRule(True, 10, 1000).ttl_of(of_message) == 1000
