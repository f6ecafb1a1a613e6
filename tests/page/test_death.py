"""x-death as sentences: the module itself, with entries of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TIME = 1_795_190_520  # 2026-11-20 16:02 UTC
REJECTED = {
    "queue": "orders", "reason": "rejected", "count": 3, "time": TIME,
    "exchange": "shop", "routing-keys": ["order.new"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {},
            "Rejected by a consumer of orders 3 times, first on 2026-11-20 16:02 UTC; it was"
            " published to exchange shop with key order.new.",
        ),
        (
            {"count": 1},
            "Rejected by a consumer of orders once on 2026-11-20 16:02 UTC; it was published to"
            " exchange shop with key order.new.",
        ),
        (
            {"reason": "expired", "count": 1, "exchange": "", "original-expiration": "5000"},
            "Expired in orders once on 2026-11-20 16:02 UTC; it was published to the default"
            " exchange with key order.new, to live for 5000 ms.",
        ),
        (
            {"reason": "maxlen", "time": None, "routing-keys": ["a", ""]},
            "Dropped by the length limit of orders 3 times; it was published to exchange shop"
            " with keys a, (empty).",
        ),
        (
            {"reason": "delivery_limit", "count": 1, "time": None, "routing-keys": []},
            "Delivered too often from orders once; it was published to exchange shop.",
        ),
        (
            {"reason": "other", "queue": "", "count": None, "time": None, "routing-keys": 7},
            "Left an unnamed queue for the reason other once; it was published to exchange shop.",
        ),
    ],
)
def test_a_sentence(module: Callable[..., Any], change: dict[str, Any], sentence: str) -> None:
    assert module("death", "deathSentence", {**REJECTED, **change}) == sentence


@pytest.mark.parametrize("headers", [None, {}, {"x-death": "mine"}, {"x-death": [None, 7]}])
def test_headers_of_another_make_say_nothing(module: Callable[..., Any], headers: Any) -> None:
    assert module("death", "deathSentences", headers) == []


def test_a_time_that_is_none(module: Callable[..., Any]) -> None:
    sentence = module("death", "deathSentence", {**REJECTED, "time": 1e300})
    assert "an unknown time" in sentence
