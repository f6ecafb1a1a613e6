"""Permissions: RabbitMQ's meaning of their patterns, RE2's safety, and which action asks which."""

from __future__ import annotations

import pytest

from reference_broker.core.access.permission import (
    ALL_PERMISSIONS,
    AccessPattern,
    Action,
    Permission,
    TopicPermission,
    literal,
)
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


@pytest.mark.parametrize("action", Action)
def test_each_action_has_a_pattern_of_its_own(action: Action) -> None:
    permission = Permission.of("^configure", "^write", "^read")
    assert permission.texts() == ("^configure", "^write", "^read")
    allowed = [each for each in Action if permission.allows(action, each.value)]
    assert allowed == [action]
    assert ALL_PERMISSIONS.allows(action, "")
    assert not Permission.of("", "", "").allows(action, "x")


@pytest.mark.parametrize(("action", "key"), [(Action.WRITE, "me.x"), (Action.READ, "a+b.x")])
def test_a_topic_pattern_takes_names_literally(action: Action, key: str) -> None:
    permission = TopicPermission("^{username}\\.x$", "^{vhost}\\.x$")
    pattern = permission.pattern(action, "me", "a+b")
    assert pattern.matches(key)
    assert not pattern.matches("aab.x")
    assert not pattern.matches("{username}.x")


def test_a_name_can_make_a_topic_pattern_too_long() -> None:
    permission = TopicPermission("{username}", "")
    with pytest.raises(BadPattern):
        permission.pattern(Action.WRITE, "." * PATTERN_BYTES_MAX, "/")
