"""hash_match: even shares, and what a change of bindings moves."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from math import exp, log
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.base.splitmix import hash_of, mixed
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.hash_match import (
    _PLACES,
    IN_SIGHT,
    ConsistentHashMatcher,
    HashSource,
    ModulusHashMatcher,
    check_hash_arguments,
    check_weight,
)
from reference_broker.core.message.message_headers import NO_HEADERS, MessageHeaders
from reference_broker.errors import ChannelException

KEYS = [f"order.{number}" for number in range(10_000)]
CHI_SQUARE_99_9 = {1: 10.83, 2: 13.82, 9: 27.88}
"""By degrees of freedom: an even spread is above it in one case of a thousand."""


def hashed(*bindings: Binding, **arguments: Any) -> ConsistentHashMatcher:
    matcher = ConsistentHashMatcher(HashSource.of(arguments))
    for binding in bindings:
        matcher.add(binding)
    return matcher


def queue_of(matcher: ConsistentHashMatcher, key: str) -> str:
    (binding,) = matcher.match(key, NO_HEADERS)
    return binding.destination


def placed(matcher: ConsistentHashMatcher) -> dict[str, str]:
    return {key: queue_of(matcher, key) for key in KEYS}


@pytest.mark.parametrize("weights", [[1, 1], [1, 1, 2], [1] * 10, [10**200, 3 * 10**200]])
def test_shares_follow_the_weights(weights: list[int]) -> None:
    matcher = hashed(*(Binding("x", f"q{n}", str(w)) for n, w in enumerate(weights)))
    counts = Counter(placed(matcher).values())
    expected = [len(KEYS) * weight / sum(weights) for weight in weights]
    chi_square = sum((counts[f"q{n}"] - wanted) ** 2 / wanted for n, wanted in enumerate(expected))
    assert chi_square < CHI_SQUARE_99_9[len(weights) - 1]


def test_one_that_goes_moves_its_share_only_and_comes_back_to_it() -> None:
    bindings = [Binding("x", f"q{n}", "1") for n in range(5)]
    matcher = hashed(*bindings)
    before = placed(matcher)
    matcher.remove(bindings[1])
    without = placed(matcher)
    assert {before[key] for key in KEYS if before[key] != without[key]} == {"q1"}
    assert len({without[key] for key in KEYS if before[key] == "q1"}) == 4
    matcher.add(bindings[1])
    assert placed(matcher) == before


def first_drawn(weights: dict[str, int], key: str) -> str:
    """The destination for ``key``, by a look at each of them, in numbers without a scale."""
    value = hash_of(key.encode())
    place = mixed(value ^ _PLACES)
    moments = {}
    for name, weight in weights.items():
        seed = hash_of(b"\x01" + name.encode())
        scale = weight.bit_length() - 1
        distance = ((seed - place) % 2**64 + 1) / 2**64
        drawn = -log((mixed(value ^ seed) + 1) / 2**64) / (weight / 2**scale)
        if drawn < -log(distance) / IN_SIGHT:
            moment = distance * exp(drawn * IN_SIGHT) / IN_SIGHT
        else:
            moment = drawn + log(distance) / IN_SIGHT + 1 / IN_SIGHT
        moments[name] = moment / 2**scale
    return min(moments, key=moments.__getitem__)


@pytest.mark.parametrize(
    "weights",
    [
        [1] * 500,
        [1, 2, 3, 5, 1_000] * 60,
        [10**9] * 3 + [1] * 300,
        [2 ** (n * 8) for n in range(99)],
    ],
    ids=["equal", "mixed", "three heavy", "every scale"],
)
def test_those_out_of_sight_need_no_look(weights: list[int]) -> None:
    named = {f"q{number}": weight for number, weight in enumerate(weights)}
    matcher = hashed(*(Binding("x", name, str(weight)) for name, weight in named.items()))
    for key in KEYS[:100]:
        assert queue_of(matcher, key) == first_drawn(named, key)


def test_a_message_looks_at_those_in_sight_however_many_there_are() -> None:
    bindings = [Binding("x", f"q{number}", str(1 + number % 3)) for number in range(20_000)]
    matcher = hashed(*bindings)
    looked = 0
    for key in KEYS[:200]:
        assert len(matcher.match(key, NO_HEADERS)) == 1
        looked += matcher.looked
    assert looked < 200 * 2 * IN_SIGHT
    few = hashed(*bindings[:10])
    few.match("k", NO_HEADERS)
    assert few.looked <= 10


def test_among_many_one_that_goes_moves_its_share_only() -> None:
    bindings = [Binding("x", f"q{number}", str(1 + number % 7)) for number in range(1_000)]
    matcher = hashed(*bindings)
    keys = KEYS[:1_000]
    before = {key: queue_of(matcher, key) for key in keys}
    gone = {bindings[number].destination for number in range(0, 1_000, 10)}
    for binding in bindings[::10]:
        matcher.remove(binding)
    without = {key: queue_of(matcher, key) for key in keys}
    moved = {key for key in keys if before[key] != without[key]}
    assert moved == {key for key in keys if before[key] in gone}
    assert len(moved) > 50
    for binding in reversed(bindings[::10]):
        matcher.add(binding)
    assert {key: queue_of(matcher, key) for key in keys} == before


def test_shares_of_many_follow_the_weights() -> None:
    """By groups of weights, since each of a thousand queues has a handful of the keys."""
    weights = [1] * 600 + [3] * 300 + [100] * 9
    matcher = hashed(*(Binding("x", f"q{n}", str(weight)) for n, weight in enumerate(weights)))
    keys = KEYS[:6_000]
    counts = Counter(weights[int(queue_of(matcher, key)[1:])] for key in keys)
    for weight, together in Counter(weights).items():
        wanted = len(keys) * weight * together / sum(weights)
        assert abs(counts[weight] - wanted) < 4 * wanted**0.5, (weight, counts, wanted)


def test_a_second_binding_of_a_queue_counts_when_the_first_is_gone() -> None:
    first, second = Binding("x", "q0", "1"), Binding("x", "q0", "9")
    matcher = hashed(first, Binding("x", "q1", "1"))
    before = placed(matcher)
    matcher.add(second)
    assert placed(matcher) == before
    matcher.remove(first)
    assert Counter(placed(matcher).values())["q0"] > 8_500
    matcher.remove(second)
    assert set(placed(matcher).values()) == {"q1"}
    matcher.add(first)
    assert placed(matcher) == before


def test_a_queue_and_an_exchange_of_one_name_are_two() -> None:
    matcher = hashed(
        Binding("x", "same", "1"), Binding("x", "same", "1", destination_is_queue=False)
    )
    kinds = Counter(matcher.match(key, NO_HEADERS)[0].destination_is_queue for key in KEYS)
    assert min(kinds.values()) > 4_500


def test_nothing_bound_is_nowhere() -> None:
    assert hashed().match("k", NO_HEADERS) == []
    assert ModulusHashMatcher().match("k", NO_HEADERS) == []


def message(**properties: Any) -> MessageHeaders:
    return MessageHeaders(encode_header(0, Properties(**properties)))


@pytest.mark.parametrize(
    "value",
    ["text", 5, 5.5, True, Decimal("1.5"), datetime(2026, 1, 2, tzinfo=UTC), [1, "a"], {"a": 1}],
)
def test_a_header_of_any_type_decides(value: Any) -> None:
    matcher = hashed(*(Binding("x", f"q{n}", "1") for n in range(50)), **{"hash-header": "id"})
    found = matcher.match("one key", message(headers={"id": value}))
    assert matcher.match("another", message(headers={"id": value, "more": 1})) == found
    assert matcher.match("k", message(headers={"id": f"not {value}"})) != found


@pytest.mark.parametrize("name", ["message_id", "correlation_id", "timestamp"])
def test_a_property_decides(name: str) -> None:
    matcher = hashed(*(Binding("x", f"q{n}", "1") for n in range(50)), **{"hash-property": name})
    times = [datetime.fromtimestamp(1_000 + n, UTC) for n in range(2)]
    one, other = times if name == "timestamp" else ("one", "other")
    found = matcher.match("k", message(**{name: one}))
    assert matcher.match("another", message(**{name: one}, headers={"a": 1})) == found
    assert matcher.match("k", message(**{name: other})) != found


@pytest.mark.parametrize("arguments", [{"hash-header": "id"}, {"hash-property": "message_id"}])
def test_messages_without_it_go_to_one_place(arguments: dict[str, str]) -> None:
    matcher = hashed(*(Binding("x", f"q{n}", "1") for n in range(9)), **arguments)
    found = {matcher.match(key, message())[0].destination for key in KEYS[:100]}
    assert len(found) == 1


def test_only_the_routing_key_lets_a_route_be_kept() -> None:
    assert hashed().by_key_alone
    assert not hashed(**{"hash-header": "a"}).by_key_alone
    assert not hashed(**{"hash-property": "message_id"}).by_key_alone


def test_modulus_spreads_over_the_bindings() -> None:
    matcher = ModulusHashMatcher()
    bindings = [Binding("x", f"q{n}", "") for n in range(10)]
    for binding in bindings:
        matcher.add(binding)
    counts = Counter(matcher.match(key, NO_HEADERS)[0].destination for key in KEYS)
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < CHI_SQUARE_99_9[9]
    assert matcher.match(KEYS[0], NO_HEADERS) == matcher.match(KEYS[0], NO_HEADERS)
    matcher.remove(bindings[0])
    assert all(matcher.match(key, NO_HEADERS) != [bindings[0]] for key in KEYS)


@pytest.mark.parametrize("key", ["1", "20", "+3", "007", "9" * 255])
def test_weights(key: str) -> None:
    check_weight(key)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("", "The binding key must be an integer: <<>>"),
        ("abc", 'The binding key must be an integer: <<"abc">>'),
        ("1.5", 'The binding key must be an integer: <<"1.5">>'),
        (" 1", 'The binding key must be an integer: <<" 1">>'),
        ("1_0", 'The binding key must be an integer: <<"1_0">>'),
        ("٣", 'The binding key must be an integer: <<"٣"/utf8>>'),
        ("0", "The binding key must be greater than 0"),
        ("-5", "The binding key must be greater than 0"),
    ],
)
def test_what_is_no_weight(key: str, text: str) -> None:
    with pytest.raises(ChannelException) as caught:
        check_weight(key)
    assert caught.value.reply_text == f"PRECONDITION_FAILED - {text}"


def test_what_an_exchange_may_hash() -> None:
    check_hash_arguments({})
    check_hash_arguments({"hash-header": "a", "other": 1})
    check_hash_arguments({"hash-property": "timestamp"})
    with pytest.raises(ChannelException, match="Unsupported property: 5"):
        check_hash_arguments({"hash-property": 5})
