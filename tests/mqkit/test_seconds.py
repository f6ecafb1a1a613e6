"""Times as callers give them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.seconds import seconds, seconds_or_none


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


def test_none_may_be_allowed() -> None:
    assert seconds_or_none(None, "timeout") is None
    assert seconds_or_none("1m", "timeout") == 60.0
