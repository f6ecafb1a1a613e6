"""A parked message as a condition asks about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mqkit.lots.facts import FactsOf, json_of
from mqkit.lots.where.evaluation import MISSING
from mqkit.message import Delivery, Properties
from mqkit.retry.headers import ATTEMPT, ERROR_MESSAGE, ERROR_TYPE, PARKED_AT, PARKED_REASON
from mqkit.retry.parked import ParkedMessage
from mqkit.wire import SizedInt, Typed

NOW = datetime(2026, 11, 24, tzinfo=UTC)


def facts(body: bytes, headers: dict[str, Any]) -> FactsOf:
    delivery = Delivery("", "q.parked", body, Properties(headers=headers), 1, redelivered=False)
    return FactsOf(ParkedMessage.of(delivery, "q.parked"), NOW)


def test_the_facts() -> None:
    at = (NOW - timedelta(seconds=90)).isoformat()
    failed = {ERROR_TYPE: "ValueError", ERROR_MESSAGE: "no VAT"}
    found = facts(b'{"a": [1]}', {PARKED_AT: at, PARKED_REASON: "r", ATTEMPT: 4, **failed})
    asked = ("body", "reason", "error", "attempts", "age")
    assert [found.value(name) for name in asked] == [
        {"a": [1]},
        "r",
        "ValueError: no VAT",
        4,
        90_000,
    ]


def test_what_is_not_there() -> None:
    found = facts(b"no JSON", {})
    assert (found.value("body"), found.value("age")) == (MISSING, MISSING)
    assert (found.value("error"), found.value("attempts"), found.value("header")) == ("", 0, {})
    assert facts(b"", {ERROR_TYPE: "OSError"}).value("error") == "OSError"


def test_headers_have_no_tags() -> None:
    tagged = {"a": SizedInt("l", 1), "b": Typed("F", {"c": [SizedInt("b", 2)]}), "d": b"x"}
    assert facts(b"", tagged).value("header") == {"a": 1, "b": {"c": [2]}, "d": b"x"}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"1", 1),
        (b'"\xc3\xbc"', "ü"),
        (b"null", None),
        (b"", MISSING),
        (b"NaN", MISSING),
        (b'{"a": Infinity}', MISSING),
        (b'"\xff"', MISSING),
        (b"[" * 100_000, MISSING),
        (b"1 2", MISSING),
    ],
    ids=["number", "text", "null", "empty", "NaN", "infinity", "no UTF-8", "deep", "two"],
)
def test_json(body: bytes, value: object) -> None:
    assert json_of(body) == value
