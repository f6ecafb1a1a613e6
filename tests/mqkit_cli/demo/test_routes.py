"""Which queues a message reaches, without a broker."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.topology import loads
from mqkit_cli.demo.routes import Routes, topic_matches

TREE = """
exchanges:
  in: {type: topic, alternate: rest}
  pair: {type: direct, bind: [{from: in, key: "eu.#"}]}
  rest: {type: fanout}
  odd: {type: headers}
queues:
  late: {bind: [{from: in, key: "*.late"}]}
  all: {bind: [{from: in, key: "us.#"}, {from: odd}]}
  exact: {bind: [{from: pair, key: eu.one}]}
  lost: {bind: [{from: rest}]}
"""


@pytest.fixture
def routes() -> Routes:
    return Routes(loads(TREE))


@pytest.mark.parametrize(
    ("exchange", "key", "queues"),
    [
        ("in", "us.late", ("late", "all")),
        ("in", "us", ("all",)),
        ("in", "eu.one", ("exact",)),
        ("in", "nothing.of.this", ("lost",)),
        ("pair", "eu.one", ("exact",)),
        ("pair", "eu.two", ()),
        ("rest", "whatever", ("lost",)),
        ("odd", "", ()),
        ("", "late", ("late",)),
        ("", "in", ()),
        ("unheard of", "x", ()),
    ],
)
def test_a_message_reaches_its_queues(
    routes: Routes, exchange: str, key: str, queues: tuple[str, ...]
) -> None:
    assert routes.queues(exchange, key) == queues


def test_example_keys_reach_every_queue_that_can_be_reached(routes: Routes) -> None:
    reached = {queue for key in routes.example_keys("in") for queue in routes.queues("in", key)}
    assert {"late", "all", "exact"} <= reached
    assert routes.example_keys("odd") == ()
    assert routes.example_keys("") == ("late", "all", "exact", "lost")


WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=5)
PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "#"]), max_size=5)


@given(WORDS, PATTERNS)
def test_topics_match_as_a_regular_expression_says(words: list[str], pattern: list[str]) -> None:
    parts = {"*": "[^.]+[.]", "#": "(?:[^.]+[.])*"}
    expression = "".join(parts.get(word, f"{word}[.]") for word in pattern)
    subject = "".join(f"{word}." for word in words)
    expected = re.fullmatch(expression, subject) is not None
    assert topic_matches(".".join(pattern), ".".join(words)) is expected
