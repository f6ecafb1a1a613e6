"""topic_trie: the same answers as the definition of a pattern, at a bounded cost."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.topic_trie import TopicTrie, normal_form, words_of
from reference_broker.errors import ChannelException

WORDS = st.sampled_from(["a", "b", "*", "#", ""])
KEYS = st.lists(WORDS, max_size=6).map(".".join)


def fits(pattern: list[str], words: list[str]) -> bool:
    """The specification's sentence about patterns, and nothing clever."""
    if not pattern:
        return not words
    first, rest = pattern[0], pattern[1:]
    if first == "#":
        return any(fits(rest, words[taken:]) for taken in range(len(words) + 1))
    return bool(words) and first in ("*", words[0]) and fits(rest, words[1:])


def trie_of(patterns: list[str]) -> TopicTrie:
    trie = TopicTrie()
    for number, pattern in enumerate(patterns):
        trie.add(Binding("x", f"q{number}", pattern))
    return trie


@given(st.lists(KEYS, max_size=12), KEYS)
@settings(max_examples=400)
def test_it_finds_what_a_naive_scan_finds(patterns: list[str], key: str) -> None:
    found = [binding.destination for binding in trie_of(patterns).match(key)]
    expected = [
        f"q{number}"
        for number, pattern in enumerate(patterns)
        if fits(words_of(pattern), words_of(key))
    ]
    assert sorted(found) == sorted(expected)


@given(st.lists(KEYS, min_size=1, max_size=12, unique=True), st.data())
def test_what_is_removed_leaves_nothing_behind(patterns: list[str], data: st.DataObject) -> None:
    bindings = [Binding("x", "q", pattern) for pattern in patterns]
    trie = TopicTrie()
    for binding in bindings:
        trie.add(binding)
    removed = data.draw(st.lists(st.sampled_from(bindings), unique=True))
    for binding in removed:
        trie.remove(binding)
    kept = [binding for binding in bindings if binding not in removed]
    for pattern in patterns:
        expected = [b.key for b in kept if fits(words_of(b.key), words_of(pattern))]
        assert sorted(b.key for b in trie.match(pattern)) == sorted(expected)
    assert trie.is_empty == (not kept)


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("", "", True),
        ("#", "", True),
        ("*", "", False),
        ("*", ".", False),
        ("*.*", ".", True),
        ("a..b", "a..b", True),
        ("a.*.b", "a..b", True),
        ("a.#.b", "a.b", True),
        ("#.a", "b.a.a", True),
        ("*", "*", True),
        ("a.*", "a.#", True),
        ("a", "A", False),
    ],
)
def test_answers_of_rabbitmq(pattern: str, key: str, matches: bool) -> None:
    assert bool(trie_of([pattern]).match(key)) is matches


@pytest.mark.parametrize(
    ("pattern", "normal"),
    [
        ("#.#.#", ["#"]),
        ("#.*", ["*", "#"]),
        ("*.#.*.#", ["*", "*", "#"]),
        ("a.#.#.b", ["a", "#", "b"]),
        ("*.*", ["*", "*"]),
    ],
)
def test_runs_of_wildcards_have_one_form(pattern: str, normal: list[str]) -> None:
    assert normal_form(pattern) == normal


def test_many_hashes_cost_no_more_than_words_times_nodes() -> None:
    """A search that backtracks would not come back from this (CVE-2026-67419)."""
    patterns = [".".join(["#"] * 100), ".".join(["#", "a"] * 60 + ["b"]), "#.a.#.a.#.c"]
    trie = trie_of(patterns)
    key = ".".join(["a"] * 128)
    assert [binding.destination for binding in trie.match(key)] == ["q0"]


def test_the_order_is_that_of_the_bindings_where_patterns_are_the_same() -> None:
    trie = trie_of(["a.#"] * 20)
    assert [b.destination for b in trie.match("a.b")] == [f"q{n}" for n in range(20)]


def test_adding_twice_is_adding_once() -> None:
    trie = trie_of([])
    for _ in range(2):
        trie.add(Binding("x", "q", "a"))
    assert len(trie.match("a")) == 1


def hostile(count: int, words: int) -> TopicTrie:
    """Patterns of which every word of ``a.a.a...`` leads everywhere."""
    trie, chance = TopicTrie(), random.Random(1)
    for number in range(count):
        pattern = ".".join(chance.choice(("a", "#.a")) for _ in range(words))
        trie.add(Binding("x", f"q{number}", pattern))
    return trie


def test_the_bound_on_places_is_crossed_by_patterns_made_for_it() -> None:
    trie = hostile(300, 40)
    assert len(trie.match("a")) == 0
    with pytest.raises(ChannelException, match="more than 50000 places"):
        trie.match(".".join("a" * 127))


def test_the_keys_of_one_message_share_the_bound() -> None:
    trie = hostile(300, 10)
    key = ".".join("a" * 30)
    assert trie.match(key)
    with pytest.raises(ChannelException):
        trie.match(key, more_keys=[f"{key}.{number}" for number in range(100)])


def test_wildcards_in_a_row_cost_what_one_does() -> None:
    trie = TopicTrie()
    trie.add(Binding("x", "q", "#." * 100 + "b"))
    assert not trie.match(".".join("a" * 127))
    assert trie.looked < 3 * 127
    assert len(trie._places(".".join("a" * 127))) == 1
