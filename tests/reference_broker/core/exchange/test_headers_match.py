"""headers_match: every line of the table was run against RabbitMQ 3.10.8."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.base.field_value import comparable
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


# The index against a walk over all bindings

NAMES = ("a", "b", "c", "d", "x-a")
VALUES = (None, 1, 2, "1", True, 5.0, [1, "a"], {"k": 1})
MODES = (None, "all", "any", "all-with-x", "any-with-x")


def walked(bindings: list[Binding], headers: dict[str, Any]) -> list[Binding]:
    """The matching bindings, one after the other, as the words of the documentation have it."""
    found = []
    for binding in bindings:
        mode = binding.arguments.get("x-match", "all")
        checks = [
            name in headers
            if value is None
            else name in headers and comparable(headers[name]) == comparable(value)
            for name, value in binding.arguments.items()
            if name != "x-match" and ("with-x" in mode or not name.startswith("x-"))
        ]
        if (any if "any" in mode else all)(checks):
            found.append(binding)
    return found


def drawn(chance: random.Random, most: int) -> dict[str, Any]:
    names = chance.sample(NAMES, chance.randrange(most))
    return {name: chance.choice(VALUES) for name in names}


@pytest.mark.parametrize("seed", range(30))
def test_the_index_finds_what_a_walk_finds_in_the_same_order(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    matcher = HeadersMatcher()
    bound: list[Binding] = []
    for number in range(150):
        arguments = drawn(chance, 4)
        mode = chance.choice(MODES)
        if mode is not None:
            arguments["x-match"] = mode
        bound.append(Binding("x", f"q{number}", "", arguments))
        matcher.add(bound[-1])
        if chance.random() < 0.3:
            matcher.remove(bound.pop(chance.randrange(len(bound))))
        headers = drawn(chance, 6)
        assert list(matcher.match("", message(headers))) == walked(bound, headers)
    for binding in bound:
        matcher.remove(binding)
    assert [matcher._patterns, matcher._bound, matcher._all, matcher._any] == [{}, {}, {}, {}]


def test_a_match_looks_at_what_is_rare() -> None:
    matcher = HeadersMatcher()
    for number in range(5_000):
        matcher.add(Binding("x", f"q{number}", "", {"common": 1, "id": number}))
        matcher.add(Binding("x", f"r{number}", "", {"x-match": "any", "common": 2, "id": number}))
    assert len(list(matcher.match("", message({"common": 1, "id": 7})))) == 2
    assert matcher.looked <= 1
    assert list(matcher.match("", message({"common": 1}))) == []
    assert matcher.looked <= 1


def test_bindings_that_ask_for_the_same_are_looked_at_once() -> None:
    matcher = HeadersMatcher()
    bindings = [Binding("x", f"q{number}", "", {"a": 1, "b": 1}) for number in range(1_000)]
    for binding in bindings:
        matcher.add(binding)
    assert list(matcher.match("", message({"a": 1}))) == []
    assert matcher.looked == 1
    assert list(matcher.match("", message({"a": 1, "b": 1}))) == bindings


def test_any_of_many_that_are_all_met_costs_one_of_them() -> None:
    matcher = HeadersMatcher()
    many = {f"h{number}": 1 for number in range(100)}
    for number in range(1_000):
        matcher.add(Binding("x", f"q{number}", "", {"x-match": "any", "id": number, **many}))
    assert len(list(matcher.match("", message(many)))) == 1_000
    assert matcher.looked < 100


def test_the_bound_on_looks_in_vain_is_crossed_by_bindings_made_for_it() -> None:
    matcher = HeadersMatcher()
    sides = [[f"{side}{number}" for number in range(230)] for side in "ab"]
    for number, pair in enumerate(product(*sides)):
        matcher.add(Binding("x", f"q{number}", "", dict.fromkeys(pair)))
    with pytest.raises(ChannelException, match="nearly fit more than 25000 bindings") as caught:
        matcher.match("", message(dict.fromkeys(sides[0], 1)))
    assert caught.value.code is ReplyCode.PRECONDITION_FAILED
