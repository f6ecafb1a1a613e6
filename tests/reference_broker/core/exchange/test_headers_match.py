"""headers_match: every line of the table was run against RabbitMQ 3.10.8."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.headers_match import HeadersMatcher, check_x_match
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.errors import ChannelException, ReplyCode


def message(headers: dict[str, Any]) -> MessageHeaders:
    return MessageHeaders(encode_header(0, Properties(headers=headers)))


@pytest.mark.parametrize(
    ("arguments", "headers", "matches"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": "1"}, {"a": b"1"}, True),
        ({"a": None}, {"a": 1}, True),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        ({"a": 1}, {"a": None}, False),
        ({}, {}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1, "c": 3}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"x-match": "any"}, {}, False),
        ({"x-match": "any"}, {"a": 1}, False),
        ({"x-match": "any", "a": 1, "b": 2}, {"a": 1}, True),
        ({"x-match": "any", "a": 1, "b": 2}, {"a": 2}, False),
        ({"x-match": "any", "a": None}, {"a": 5}, True),
        ({"x-match": "any", "x-a": 1}, {"x-a": 1}, False),
        ({"x-match": "any-with-x", "x-a": 1}, {"x-a": 1}, True),
        ({"x-match": "all", "x-a": 1}, {}, True),
        ({"x-match": "all-with-x", "x-a": 1}, {}, False),
        ({"x-match": "all-with-x", "x-a": 1}, {"x-a": 1}, True),
        ({"x-match": "all-with-x"}, {}, True),
        ({"x-match": "any-with-x"}, {"x-match": "any-with-x"}, False),
        ({"a": "x"}, {"A": "x"}, False),
        ({"a": 5}, {"a": 5.0}, False),  # RabbitMQ 4; 3.10 has them equal
    ],
)
def test_matching(arguments: dict[str, Any], headers: dict[str, Any], matches: bool) -> None:
    matcher = HeadersMatcher()
    matcher.add(Binding("x", "q", "", arguments))
    assert bool(matcher.match("", message(headers))) is matches


def test_the_routing_key_does_not_count_and_order_is_kept() -> None:
    matcher = HeadersMatcher()
    bindings = [Binding("x", f"q{n}", "some key", {"a": 1}) for n in range(5)]
    for binding in bindings:
        matcher.add(binding)
    matcher.remove(bindings[2])
    found = matcher.match("another", message({"a": 1}))
    assert [binding.destination for binding in found] == ["q0", "q1", "q3", "q4"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            "bogus",
            'Invalid x-match field value <<"bogus">>; expected all, any, all-with-x, or any-with-x',
        ),
        (5, "Invalid x-match field type signedint (value 5); expected longstr"),
        (True, "Invalid x-match field type bool (value true); expected longstr"),
        (None, "Invalid x-match field type void (value undefined); expected longstr"),
        (b"all", 'Invalid x-match field type binary (value <<"all">>); expected longstr'),
        (
            {"a": 1},
            'Invalid x-match field type table (value [{<<"a">>,signedint,1}]); expected longstr',
        ),
    ],
)
def test_what_x_match_may_not_be(value: Any, text: str) -> None:
    with pytest.raises(ChannelException) as caught:
        check_x_match({"x-match": value})
    assert (caught.value.code, caught.value.text) == (ReplyCode.PRECONDITION_FAILED, text)


@pytest.mark.parametrize("value", ["all", "any", "all-with-x", "any-with-x"])
def test_what_x_match_may_be(value: str) -> None:
    check_x_match({"x-match": value})
    check_x_match({})
