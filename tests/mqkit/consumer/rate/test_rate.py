"""Rates, as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.consumer.rate.rate import Rate
from mqkit.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "rate", "interval_s", "burst"),
    [
        ("100/s", Rate(100, 1), 0.01, 10),
        ("30/m", Rate(30, 60), 2.0, 1),
        ("2/10s", Rate(2, 10), 5.0, 1),
        ("1 / 1m30s", Rate(1, 90), 90.0, 1),
        ("10/0.5s", Rate(10, 0.5), 0.05, 2),
        ("5000/s", Rate(5000, 1), 0.0002, 500),
    ],
)
def test_a_rate(text: str, rate: Rate, interval_s: float, burst: int) -> None:
    assert Rate.parse(text) == rate
    assert rate.interval_s == pytest.approx(interval_s)
    assert rate.burst == burst
    assert Rate.parse(str(rate)) == rate


@pytest.mark.parametrize(
    "wrong", ["", "100", "100/", "/s", "1.5/s", "-1/s", "0/s", "1/0s", "1/w", "fast", 100, None]
)
def test_what_is_no_rate_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="rate="):
        Rate.parse(wrong)
