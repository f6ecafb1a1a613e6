"""The exceptions that a handler may raise."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.retry import Drop, Park, RetryLater


@pytest.mark.parametrize(
    ("after", "after_ms"),
    [
        (None, None),
        ("5s", 5_000),
        (timedelta(minutes=1), 60_000),
        (timedelta(microseconds=1_500), 2),
    ],
)
def test_retry_later_takes_text_or_a_timedelta(after: Any, after_ms: int | None) -> None:
    assert RetryLater(after=after).after_ms == after_ms


@pytest.mark.parametrize("after", ["soon", 5, timedelta(seconds=-1), timedelta(days=50)])
def test_retry_later_refuses_what_is_no_time(after: Any) -> None:
    with pytest.raises(ConfigurationError):
        RetryLater(after=after)


def test_the_reason_is_kept() -> None:
    assert Park("bad VAT id").reason == "bad VAT id"
    assert str(Drop("seen before")) == "seen before"
    assert RetryLater("1s", "the gate is closed").reason == "the gate is closed"


def test_a_reason_may_be_an_exception_or_anything_that_has_a_text() -> None:
    assert Park(ValueError("no such airport")).reason == "no such airport"
    assert str(Drop(404)) == Drop(404).reason == "404"
