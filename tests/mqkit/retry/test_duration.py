"""Durations: what people write, and the one spelling that names are made from."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS, DurationText, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("200ms", 200),
        ("5s", 5_000),
        ("1m", 60_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("0s", 0),
        (" 3s ", 3_000),
        ("0.5s", 500),
        ("1.5h", 5_400_000),
        ("0.001s", 1),
        ("1m30s", 90_000),
        ("1d2h3m4s5ms", 93_784_005),
        ("1.5m0.5s", 90_500),
    ],
)
def test_reads_what_people_write(text: str, duration_ms: int) -> None:
    assert parse_duration(text) == duration_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "s",
        "5 parsecs",
        "-1s",
        ".5s",
        "1.s",
        "1s2m",
        "1s1s",
        "1m 30s",
        "５s",
        "5S",
        "1e3s",
        "9" * 40 + "d",
    ],
)
def test_refuses_the_rest_and_says_what_was_expected(text: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"expected something like 200ms, 5s, 0\.5s, 1m30s, 2h"
    ):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0.5ms", "0.0001s", "1s0.1ms"])
def test_refuses_parts_of_a_millisecond(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{text}' is not a whole number of milliseconds"):
        parse_duration(text)


def test_the_longest_duration_is_taken_and_one_more_is_refused() -> None:
    assert parse_duration(f"{MAX_DURATION_MS}ms") == MAX_DURATION_MS
    with pytest.raises(ConfigurationError, match="too long"):
        parse_duration(f"{MAX_DURATION_MS + 1}ms")


def test_formats_with_the_largest_unit_that_divides() -> None:
    texts = [format_duration(ms) for ms in (0, 1, 1_500, 60_000, 90_000, 3_600_000, 86_400_000)]
    assert texts == ["0ms", "1ms", "1500ms", "1m", "90s", "1h", "1d"]


@given(st.integers(0, MAX_DURATION_MS))
def test_what_is_formatted_reads_back(duration_ms: int) -> None:
    assert parse_duration(format_duration(duration_ms)) == duration_ms


def test_every_text_that_type_checkers_take_is_a_duration() -> None:
    texts = get_args(DurationText)
    assert len(texts) == len(set(texts))
    assert all(isinstance(parse_duration(text), int) for text in texts)
