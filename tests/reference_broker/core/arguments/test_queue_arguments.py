"""The arguments of queue.declare; the texts are those that RabbitMQ 3.10.8 gave for each."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from reference_broker.core.arguments.queue_arguments import (
    MAX_EXPIRY_MS,
    MAX_PRIORITY,
    Overflow,
    QueueArguments,
    parse_stored,
)
from reference_broker.core.arguments.queue_type import NOT_OF_CLASSIC_QUEUES, NOT_OF_QUORUM_QUEUES
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode

INVALID: list[tuple[dict[str, Any], str, str]] = [
    ({"x-message-ttl": "5"}, "x-message-ttl", '"expected integer, got longstr"'),
    ({"x-message-ttl": -1}, "x-message-ttl", "{value_negative,-1}"),
    ({"x-message-ttl": True}, "x-message-ttl", '"expected integer, got bool"'),
    ({"x-message-ttl": None}, "x-message-ttl", '"expected integer, got void"'),
    ({"x-message-ttl": [1]}, "x-message-ttl", '"expected integer, got array"'),
    ({"x-message-ttl": {"a": 1}}, "x-message-ttl", '"expected integer, got table"'),
    ({"x-message-ttl": Decimal("1.5")}, "x-message-ttl", '"expected integer, got decimal"'),
    (
        {"x-message-ttl": datetime(2020, 1, 1, tzinfo=UTC)},
        "x-message-ttl",
        '"expected integer, got timestamp"',
    ),
    (
        {"x-message-ttl": MAX_EXPIRY_MS + 1},
        "x-message-ttl",
        "{value_too_large,315360000001}",
    ),
    ({"x-expires": 0}, "x-expires", "{value_zero,0}"),
    ({"x-expires": -1}, "x-expires", "{value_negative,-1}"),
    ({"x-expires": MAX_EXPIRY_MS + 1}, "x-expires", "{value_too_large,315360000001}"),
    ({"x-max-length": "5"}, "x-max-length", '"expected integer, got longstr"'),
    ({"x-max-length": -1}, "x-max-length", "{value_negative,-1}"),
    ({"x-max-length-bytes": -1}, "x-max-length-bytes", "{value_negative,-1}"),
    ({"x-max-priority": -1}, "x-max-priority", "{value_negative,-1}"),
    ({"x-max-priority": MAX_PRIORITY + 1}, "x-max-priority", "{max_value_exceeded,256}"),
    ({"x-overflow": "bad"}, "x-overflow", "invalid_overflow"),
    ({"x-overflow": 5}, "x-overflow", "{unacceptable_type,signedint}"),
    (
        {"x-dead-letter-routing-key": 5},
        "x-dead-letter-routing-key",
        "{unacceptable_type,signedint}",
    ),
    (
        {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": None},
        "x-dead-letter-routing-key",
        "{unacceptable_type,void}",
    ),
    (
        {"x-dead-letter-routing-key": "k"},
        "x-dead-letter-routing-key",
        "routing_key_but_no_dlx_defined",
    ),
    ({"x-queue-type": "bad"}, "x-queue-type", "\"unsupported queue type 'bad'\""),
    ({"x-queue-type": 5}, "x-queue-type", "{unacceptable_type,signedint}"),
    ({"x-queue-mode": "bad"}, "x-queue-mode", "\"unsupported queue mode 'bad'\""),
    ({"x-queue-version": 3}, "x-queue-version", "\"unsupported queue version '3'\""),
    ({"x-queue-version": -1}, "x-queue-version", "{value_negative,-1}"),
    (
        {"x-single-active-consumer": 1},
        "x-single-active-consumer",
        "{unacceptable_type,signedint}",
    ),
]


@pytest.mark.parametrize(("arguments", "name", "why"), INVALID)
def test_an_invalid_argument_is_refused_in_rabbitmqs_words(
    arguments: dict[str, Any], name: str, why: str
) -> None:
    with pytest.raises(ChannelException) as refusal:
        QueueArguments.parse(arguments, "q", "/")
    assert refusal.value.code is ReplyCode.PRECONDITION_FAILED
    assert refusal.value.text == f"invalid arg '{name}' for queue 'q' in vhost '/': {why}"


@pytest.mark.parametrize(("value", "kind"), [(5, "signedint"), (True, "bool"), ([], "array")])
def test_a_dead_letter_exchange_that_is_no_text_has_a_text_of_its_own(
    value: object, kind: str
) -> None:
    with pytest.raises(ChannelException) as refusal:
        QueueArguments.parse({"x-expires": -1, "x-dead-letter-exchange": value}, "q", "v")
    assert refusal.value.text == (
        f"invalid type '{kind}' for arg 'x-dead-letter-exchange' in queue 'q' in vhost 'v'"
    )


RIGHT_VALUES: dict[str, Any] = {
    "x-dead-letter-strategy": "at-most-once",
    "x-queue-leader-locator": "balanced",
    "x-queue-mode": "lazy",
}


@pytest.mark.parametrize("name", NOT_OF_CLASSIC_QUEUES)
def test_arguments_of_other_queue_types_are_refused(name: str) -> None:
    with pytest.raises(ChannelException) as refusal:
        QueueArguments.parse({name: RIGHT_VALUES.get(name, 1)}, "q", "/")
    assert refusal.value.text == (
        f"invalid arg '{name}' for queue 'q' in vhost '/' of queue type rabbit_classic_queue"
    )


QUORUM: dict[str, Any] = {"x-queue-type": "quorum"}


@pytest.mark.parametrize("name", NOT_OF_QUORUM_QUEUES)
def test_a_quorum_queue_refuses_what_only_others_have(name: str) -> None:
    with pytest.raises(ChannelException) as refusal:
        QueueArguments.parse({name: RIGHT_VALUES.get(name, 1), **QUORUM}, "q", "/")
    assert refusal.value.text == (
        f"invalid arg '{name}' for queue 'q' in vhost '/' of queue type rabbit_quorum_queue"
    )


INVALID_FOR_QUORUM: list[tuple[str, object, str]] = [
    ("x-delivery-limit", "5", '"expected integer, got longstr"'),
    ("x-delivery-limit", True, '"expected integer, got bool"'),
    ("x-dead-letter-strategy", "foo", "invalid_dlx_strategy"),
    ("x-dead-letter-strategy", 1, "{unacceptable_type,signedint}"),
    ("x-quorum-initial-group-size", 0, "{value_zero,0}"),
    ("x-quorum-initial-group-size", -1, "{value_negative,-1}"),
    ("x-quorum-initial-group-size", "a", '"expected integer, got longstr"'),
    ("x-max-in-memory-length", -1, "{value_negative,-1}"),
    ("x-max-in-memory-bytes", -1, "{value_negative,-1}"),
    ("x-queue-leader-locator", "foo", "invalid_queue_locator_arg"),
    ("x-queue-leader-locator", 1, "{unacceptable_type,signedint}"),
    ("x-consumer-timeout", 0, "{value_zero,0}"),
    ("x-consumer-timeout", "1", '"expected integer, got longstr"'),
]


@pytest.mark.parametrize(("name", "value", "why"), INVALID_FOR_QUORUM)
def test_what_a_quorum_queue_has_is_checked(name: str, value: object, why: str) -> None:
    with pytest.raises(ChannelException) as refusal:
        QueueArguments.parse({name: value, **QUORUM}, "q", "/")
    assert refusal.value.text == f"invalid arg '{name}' for queue 'q' in vhost '/': {why}"


def test_a_stream_ends_the_connection() -> None:
    with pytest.raises(ConnectionException, match=r"NOT_IMPLEMENTED.*'stream'"):
        QueueArguments.parse({"x-queue-type": "stream"}, "q", "/")


CHECKED_IN_ORDER: list[dict[str, Any]] = [
    {"x-queue-type": "bad"},
    {"x-expires": -1},
    {"x-message-ttl": -1},
    {"x-dead-letter-routing-key": "k"},
    {"x-max-length": -1},
    {"x-max-length-bytes": -1},
    {"x-max-priority": -1},
    {"x-overflow": "bad"},
    {"x-queue-mode": "bad"},
    {"x-queue-version": 9},
    {"x-single-active-consumer": 1},
    {"x-delivery-limit": 1},
]


@pytest.mark.parametrize("place", range(len(CHECKED_IN_ORDER) - 1))
def test_of_several_mistakes_the_one_that_rabbitmq_names_is_named(place: int) -> None:
    first, second = CHECKED_IN_ORDER[place : place + 2]
    with pytest.raises(ChannelException, match=f"'{next(iter(first))}'"):
        QueueArguments.parse(second | first, "q", "/")


def test_everything_that_is_allowed_is_kept() -> None:
    arguments = {
        "x-message-ttl": 0,
        "x-expires": MAX_EXPIRY_MS,
        "x-max-length": 0,
        "x-max-length-bytes": 1 << 40,
        "x-overflow": "reject-publish-dlx",
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "k",
        "x-max-priority": MAX_PRIORITY,
        "x-single-active-consumer": True,
        "x-queue-type": "classic",
        "x-queue-mode": "lazy",
        "x-queue-version": 2,
        "x-anything": {"of": "the user's"},
    }
    assert QueueArguments.parse(arguments, "q", "/") == QueueArguments(
        message_ttl_ms=0,
        expires_ms=MAX_EXPIRY_MS,
        max_length=0,
        max_length_bytes=1 << 40,
        overflow=Overflow.REJECT_PUBLISH_DLX,
        dead_letter_exchange="",
        dead_letter_routing_key="k",
        max_priority=MAX_PRIORITY,
        single_active_consumer=True,
    )


def test_no_arguments_are_no_limits() -> None:
    assert QueueArguments.parse({}, "q", "/") == QueueArguments()


@pytest.mark.parametrize(
    "unseen",
    [
        {"x-consumer-timeout": "a"},
        {"x-consumer-timeout": -1},
        {"x-requeue-position": 5},
        {"x-requeue-delay": 1},
    ],
)
def test_what_an_earlier_version_did_not_look_at_is_no_reason_to_lose_a_queue(
    unseen: dict[str, Any],
) -> None:
    with pytest.raises(ChannelException):
        QueueArguments.parse({"x-expires": 5, **unseen}, "q", "/")
    assert parse_stored({"x-expires": 5, **unseen}, "q", "/") == QueueArguments(expires_ms=5)
    with pytest.raises(ChannelException):
        parse_stored({"x-expires": "a"}, "q", "/")
