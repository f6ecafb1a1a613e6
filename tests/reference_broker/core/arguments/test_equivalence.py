"""equivalence: which declarations are the same, and RabbitMQ's words when they are not."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import SizedInt
from reference_broker.core.arguments.equivalence import (
    EXCHANGE_ARGUMENTS,
    QUEUE_ARGUMENTS,
    require_same,
    require_same_arguments,
)
from reference_broker.errors import ChannelException, ReplyCode

RESOURCE = "queue 'q' in vhost '/'"


def refusal(received: dict[str, Any], current: dict[str, Any]) -> str | None:
    """The text after the resource; ``None`` if there was no refusal."""
    try:
        require_same_arguments(received, current, RESOURCE, QUEUE_ARGUMENTS)
    except ChannelException as error:
        return error.text
    return None


@pytest.mark.parametrize(
    ("received", "current", "words"),
    [
        (5, None, "received the value '5' of type 'signedint' but current is none"),
        (2**40, None, "received the value '1099511627776' of type 'long' but current is none"),
        (None, 5, "received none but current is the value '5' of type 'signedint'"),
        (SizedInt("b", 5), None, "received the value '5' of type 'byte' but current is none"),
        (None, SizedInt("l", 5), "received none but current is the value '5' of type 'long'"),
        (6, 5, "received '6' but current is '5'"),
        (SizedInt("s", 6), 5, "received '6' but current is '5'"),
        ("5", 5, "received '5' but current is '5'"),
        (True, 5, "received 'true' but current is '5'"),
        (True, 1, "received 'true' but current is '1'"),
        (5.0, 5, "received '5.0' but current is '5'"),
    ],
)
def test_the_words_for_a_difference(received: Any, current: Any, words: str) -> None:
    name = "x-max-length"
    text = refusal(
        {} if received is None else {name: received}, {} if current is None else {name: current}
    )
    assert text == f"inequivalent arg '{name}' for {RESOURCE}: {words}"


def test_a_void_value_is_none_beside_another_value() -> None:
    text = refusal({"x-max-length": None}, {"x-max-length": 5})
    assert text is not None
    assert text.endswith("received none but current is '5'")


def test_a_void_value_is_a_value_beside_nothing() -> None:
    text = refusal({"x-max-length": None}, {})
    assert text is not None
    assert "the value 'undefined' of type 'void'" in text


@pytest.mark.parametrize("name", QUEUE_ARGUMENTS)
def test_every_argument_that_rabbitmq_compares(name: str) -> None:
    assert refusal({name: "1"}, {}) is not None
    assert refusal({}, {name: "1"}) is not None
    assert refusal({name: "1"}, {name: "1"}) is None


def test_arguments_that_are_unknown_are_ignored() -> None:
    assert refusal({"x-unknown": 1, "zzz": 2, "x-max-age": "5D"}, {"x-unknown": 2}) is None


def test_the_default_queue_type_may_be_named_or_not() -> None:
    assert refusal({"x-queue-type": "classic"}, {}) is None
    assert refusal({}, {"x-queue-type": "classic"}) is None
    assert refusal({"x-queue-type": "quorum"}, {}) is not None
    assert refusal({"x-queue-type": "quorum"}, {"x-queue-type": "classic"}) is not None


def test_the_first_difference_is_reported_in_rabbitmqs_order() -> None:
    remaining = {"x-overflow": "a", "x-max-length": 1, "x-expires": 1, "x-message-ttl": 1}
    reported = []
    while (text := refusal(remaining, {})) is not None:
        reported.append(text.split("'")[1])
        del remaining[reported[-1]]
    assert reported == ["x-expires", "x-message-ttl", "x-max-length", "x-overflow"]


def test_of_an_exchange_only_the_alternate_counts() -> None:
    require_same_arguments({"x": 1}, {"y": 2}, "x", EXCHANGE_ARGUMENTS)
    with pytest.raises(ChannelException, match="received 'bar' but current is 'foo'"):
        require_same_arguments(
            {"alternate-exchange": "bar"}, {"alternate-exchange": "foo"}, "x", EXCHANGE_ARGUMENTS
        )


def test_properties() -> None:
    require_same("durable", True, True, RESOURCE)
    with pytest.raises(ChannelException) as caught:
        require_same("durable", True, False, RESOURCE)
    assert caught.value.code is ReplyCode.PRECONDITION_FAILED
    assert caught.value.text == (
        f"inequivalent arg 'durable' for {RESOURCE}: received 'true' but current is 'false'"
    )
    with pytest.raises(ChannelException, match="received 'topic' but current is 'direct'"):
        require_same("type", "topic", "direct", RESOURCE)


def test_the_size_of_an_integer_is_no_difference() -> None:
    assert refusal({"x-max-length": SizedInt("b", 5)}, {"x-max-length": 5}) is None
