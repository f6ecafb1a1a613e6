"""matcher: the two plain exchange types."""

from __future__ import annotations

from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.matcher import BindingOrder, DirectMatcher, FanoutMatcher
from reference_broker.core.message.message_headers import NO_HEADERS


def test_direct_wants_exactly_the_key() -> None:
    matcher = DirectMatcher()
    bindings = [Binding("x", "q1", "k"), Binding("x", "q2", "k"), Binding("x", "q3", "K")]
    for binding in bindings:
        matcher.add(binding)
    assert list(matcher.match("k", NO_HEADERS)) == bindings[:2]
    assert list(matcher.match("", NO_HEADERS)) == []
    matcher.remove(bindings[0])
    matcher.remove(bindings[1])
    assert list(matcher.match("k", NO_HEADERS)) == []


def test_fanout_wants_nothing() -> None:
    matcher = FanoutMatcher()
    bindings = [Binding("x", "q1", "k"), Binding("x", "q2", "l")]
    for binding in bindings:
        matcher.add(binding)
    assert list(matcher.match("m", NO_HEADERS)) == bindings
    matcher.remove(bindings[0])
    assert list(matcher.match("m", NO_HEADERS)) == bindings[1:]


def test_more_keys_find_more_bindings_each_once() -> None:
    direct = DirectMatcher()
    bindings = [Binding("x", "q1", "k"), Binding("x", "q2", "l"), Binding("x", "q3", "m")]
    for binding in bindings:
        direct.add(binding)
    assert direct.match("l", NO_HEADERS, ["k", "l", "k", "nobody"]) == [bindings[1], bindings[0]]


def test_a_fanout_has_no_use_for_keys() -> None:
    fanout = FanoutMatcher()
    fanout.add(Binding("x", "q1", "k"))
    assert len(list(fanout.match("k", NO_HEADERS, ["k", "l"]))) == 1


def test_oldest_first_after_every_change() -> None:
    order = BindingOrder()
    bindings = [Binding("x", f"q{n}") for n in range(3)]
    for binding in bindings:
        order.add(binding)
    assert order.all() == bindings
    order.remove(bindings[1])
    assert order.all() == [bindings[0], bindings[2]]
    order.add(bindings[1])
    assert order.all() == [bindings[0], bindings[2], bindings[1]]
