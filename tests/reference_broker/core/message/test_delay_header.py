"""delay: what x-delay may be, and what is left of it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from mqkit.wire import Properties, Typed, decode_header, encode_header
from reference_broker.core.message.delay_header import DELAY_MAX_MS, delay_ms, with_spent_delay


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5000, 5000),
        (1, 1),
        (0, 0),
        (-5000, 0),
        (DELAY_MAX_MS, DELAY_MAX_MS),
        (DELAY_MAX_MS + 1, 0),
        ("5000", 5000),
        ("+7", 7),
        ("-7", 0),
        ("5s", 0),
        ("9" * 5000, 0),
        ("", 0),
        (5.9, 5),
        (0.5, 0),
        (float("inf"), 0),
        (float("nan"), 0),
        (Decimal("5.9"), 5),
        (True, 0),
        (None, 0),
        ([5], 0),
        ({"a": 5}, 0),
        (b"\xff", 0),
    ],
)
def test_what_counts_as_a_delay(value: Any, expected: int) -> None:
    assert delay_ms({"x-delay": value}) == expected


def test_none_at_all() -> None:
    assert delay_ms({}) == 0


@pytest.mark.parametrize("value", [5000, "5000", 5000.5, Typed("l", 5000), Typed("s", 5000)])
def test_a_spent_delay_is_negative_and_nothing_else_changes(value: Any) -> None:
    properties = Properties(
        content_type="a/b", headers={"a": "b", "x-delay": value, "c": 1}, expiration="10"
    )
    header = with_spent_delay(encode_header(3, properties))
    size, read = decode_header(header)
    assert size == 3
    assert (read.content_type, read.expiration) == ("a/b", "10")
    assert read.headers == {"a": "b", "x-delay": -5000, "c": 1}
    assert b"\x07x-delayI" in header
    assert delay_ms(read.headers) == 0


def test_the_longest_needs_a_wider_integer() -> None:
    header = with_spent_delay(encode_header(0, Properties(headers={"x-delay": DELAY_MAX_MS})))
    assert (decode_header(header)[1].headers or {})["x-delay"] == -DELAY_MAX_MS
