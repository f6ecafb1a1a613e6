"""random_match: one binding for each message, all of them about as often."""

from __future__ import annotations

from collections import Counter

from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.random_match import RandomMatcher
from reference_broker.core.message.message_headers import NO_HEADERS


def test_each_message_goes_through_one_of_them() -> None:
    matcher = RandomMatcher("x")
    assert matcher.match("k", NO_HEADERS) == []
    bindings = [Binding("x", f"q{n}", "any key") for n in range(4)]
    for binding in bindings:
        matcher.add(binding)
    counts = Counter(b.destination for _ in range(4000) for b in matcher.match("k", NO_HEADERS))
    assert sum(counts.values()) == 4000
    assert all(abs(count - 1000) < 150 for count in counts.values())
    matcher.remove(bindings[2])
    later = {b.destination for _ in range(400) for b in matcher.match("k", NO_HEADERS)}
    assert later == {"q0", "q1", "q3"}


def test_exchanges_do_not_draw_in_step() -> None:
    matchers = [RandomMatcher(name) for name in ("x", "y")]
    for matcher in matchers:
        for number in range(8):
            matcher.add(Binding("x", f"q{number}"))
    drawn = [[m.match("", NO_HEADERS)[0].destination for _ in range(50)] for m in matchers]
    assert drawn[0] != drawn[1]
