"""Patterns from outside: on octets, unanchored, bounded."""

from __future__ import annotations

import pytest

from reference_broker.core.base.pattern import PATTERN_BYTES_MAX, BadPattern, Pattern


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("", b"anything", True),
        ("rder", b"orders", True),
        ("^rder", b"orders", False),
        ("^o.*s$", b"orders", True),
        ("ORDERS", b"orders", False),
        ("(?i)ORDERS", b"orders", True),
        ("^é$", "é".encode(), True),
        ("^..$", "é".encode(), True),
        ("^.$", b"\xff", True),
        ("(a+)+$", b"a" * 5_000 + b"b", False),
    ],
)
def test_matching(pattern: str, name: bytes, matches: bool) -> None:
    assert Pattern(pattern).matches(name) is matches


@pytest.mark.parametrize("text", ["(", "*", "[z-a", "(?=a)", "\\1", "x{1001}", "\ud800"])
def test_what_is_no_pattern(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadPattern):
        Pattern(text)
    assert capfd.readouterr() == ("", ""), "RE2 keeps quiet"


def test_the_reason_is_a_text() -> None:
    with pytest.raises(BadPattern, match=r"^missing \): \($"):
        Pattern("(")


def test_the_longest() -> None:
    Pattern("a" * PATTERN_BYTES_MAX)
    with pytest.raises(BadPattern, match=str(PATTERN_BYTES_MAX)):
        Pattern("a" * (PATTERN_BYTES_MAX + 1))


def test_what_would_take_too_much_memory_is_refused() -> None:
    with pytest.raises(BadPattern):
        Pattern("((((a{100}){100}){100}){100})")
