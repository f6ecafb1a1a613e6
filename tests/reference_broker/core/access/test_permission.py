"""Patterns of permissions: RabbitMQ's meaning, RE2's safety."""

from __future__ import annotations

import pytest

from reference_broker.core.access.permission import AccessPattern, literal
from reference_broker.core.base.pattern import PATTERN_BYTES_MAX, BadPattern


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        (".*", "anything", True),
        (".*", "", True),
        ("q$", "pq", True),
        ("pq", "xpqx", True),
        ("PQ", "pq", False),
        ("^amq\\.gen", "amq.gen-x", True),
        ("", "q", False),
        ("^$", "q", False),
        ("^(a|b)-", "b-1", True),
        ("ä", "jänner", True),
        ("^.$", "ä", False),  # octets are compared, and this is two
        ("x", "\udcffx", True),
    ],
)
def test_the_search_is_not_anchored_and_an_empty_pattern_finds_nothing(
    pattern: str, name: str, found: bool
) -> None:
    assert AccessPattern(pattern).matches(name) is found


@pytest.mark.parametrize(
    "pattern",
    ["(", "*", "a{2,1}", "(?=x)", r"(a)\1", "x" * (PATTERN_BYTES_MAX + 1), "((a{900}){900}){900}"],
)
def test_what_is_no_pattern_here(pattern: str) -> None:
    with pytest.raises(BadPattern, match=r"."):
        AccessPattern(pattern)


def test_a_pattern_that_backtracking_would_never_end_with() -> None:
    assert not AccessPattern("(a+)+$").matches("a" * 50_000 + "b")


@pytest.mark.parametrize("text", ["a.b", ".*", "(", "\\", "ä", "a b", "^$", "{username}", "a\nb"])
def test_a_literal_finds_itself_only(text: str) -> None:
    pattern = AccessPattern(f"^{literal(text)}$")
    assert pattern.matches(text)
    assert not pattern.matches(text + "x")
    assert not pattern.matches("x" * len(text))
