"""Times as callers give them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS
from mqkit.timing.seconds import duration, seconds, seconds_or_none, whole_milliseconds


@pytest.mark.parametrize(
    ("span", "expected_s"),
    [(5, 5.0), (0, 0.0), (0.5, 0.5), ("5s", 5.0), ("200ms", 0.2), (timedelta(minutes=1), 60.0)],
)
def test_numbers_text_and_timedeltas(span: Any, expected_s: float) -> None:
    assert seconds(span, "timeout") == expected_s


@pytest.mark.parametrize(
    "span",
    [-1, -0.1, float("inf"), float("nan"), True, None, b"5s", timedelta(seconds=-1)],
)
def test_anything_else_is_refused_by_name(span: Any) -> None:
    with pytest.raises(ConfigurationError, match="timeout="):
        seconds(span, "timeout")


def test_text_that_is_no_duration_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="5 parsecs"):
        seconds("5 parsecs", "timeout")


@pytest.mark.parametrize(
    ("span", "expected_ms"),
    [
        (0, 0),
        (1.001, 1001),
        (0.29, 290),
        ("200ms", 200),
        (timedelta(milliseconds=7), 7),
        (MAX_DURATION_MS / 1000, MAX_DURATION_MS),
    ],
)
def test_a_brokers_timer_has_whole_milliseconds(span: Any, expected_ms: int) -> None:
    assert whole_milliseconds(span, "expiration") == expected_ms


@pytest.mark.parametrize(
    ("span", "told"),
    [
        (0.0001, "expiration=0.0001: expected whole milliseconds"),
        (86_400.0005, "whole milliseconds"),
        (timedelta(microseconds=1), "whole milliseconds"),
        ((MAX_DURATION_MS + 1) / 1000, "a broker's timers end"),
        (-1, "expiration=-1"),
    ],
)
def test_a_time_that_a_broker_has_no_timer_for_is_refused(span: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        whole_milliseconds(span, "expiration")


def test_none_may_be_allowed() -> None:
    assert seconds_or_none(None, "timeout") is None
    assert seconds_or_none("1m", "timeout") == 60.0


def test_text_of_a_setting_is_read_or_refused() -> None:
    assert duration("1m15s") == timedelta(seconds=75)
    with pytest.raises(ConfigurationError, match="'soon' is not a duration"):
        duration("soon")
