"""Conditions against a second evaluation, which works with functions of Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.lots.where.evaluation import MISSING, holds
from mqkit.lots.where.parser import parse


class Given:
    """Facts that a test hands in."""

    def __init__(self, body: Any = MISSING, **others: Any) -> None:
        self._facts = {"body": body, "header": {}, "reason": "", "error": "", "attempts": 0}
        self._facts |= {"age": MISSING, **others}

    def value(self, name: str) -> Any:
        return self._facts[name]


ORDER = {"total": 150, "items": [{"id": "a"}, {"id": "b"}], "to": "x@y.org", "vip": True, "n": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("body.total > 100", True),
        ("body.total == 150.0", True),
        ('body.total == "150"', False),
        ('body.total != "150"', False),
        ("body.total != 151", True),
        ("body.missing == null", False),
        ("body.missing != 1", False),
        ("not body.missing == 1", True),
        ("body.n == null", True),
        ("body.n != null", False),
        ("body.vip == true", True),
        ("body.vip == 1", False),
        ("body.vip < 2", False),
        ('body.items[1].id == "b"', True),
        ('body.items[2].id == "b"', False),
        ('body.total[0] == "b"', False),
        ("body[0] == 1", False),
        ('body.to contains "@y"', True),
        ('body.to startswith "x@"', True),
        ('body.to startswith "y"', False),
        ("body.to contains 5", False),
        ('body.to < "y"', True),
        ("body.items < 5", False),
        ("body.total in [1, 150]", True),
        ('body.total in ["150", body.missing]', False),
        ("body.total in [body.total]", True),
        ('header.tenant == 7 and header["x-list"] contains "a"', True),
        ("header.price == 12.5", True),
        ("header.octets == header.octets", False),
        ('reason contains "VAT" or error startswith "KeyError"', True),
        ("attempts >= 3", True),
        ("age > 1h and age < 1d", True),
        ("not (age > 1h and attempts >= 3)", False),
        ("5 < attempts", False),
    ],
)
def test_a_condition(text: str, expected: bool) -> None:
    facts = Given(
        ORDER,
        header={"tenant": 7, "x-list": ["a"], "price": Decimal("12.5"), "octets": b"x"},
        reason="no VAT",
        error="ValueError: x",
        attempts=3,
        age=7_200_000,
    )
    assert holds(parse(text), facts) is expected


def test_nothing_about_a_body_that_is_no_json_holds() -> None:
    facts = Given(MISSING)
    for text in ("body == null", "body != 1", "body.a == 1", "body contains 1", "1 in [body]"):
        assert holds(parse(text), facts) is False


def test_an_age_that_nobody_knows_fits_nothing() -> None:
    assert not holds(parse("age > 0s"), Given())
    assert not holds(parse("age < 1d"), Given())
    assert not holds(parse("age == age"), Given())


# The independent evaluation: a condition is made as a tree of Python functions and as text at once.

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "ab"])
trees = st.dictionaries(st.sampled_from("ab"), scalars | st.lists(scalars, max_size=2), max_size=2)


def literal(value: Any) -> str:
    """JSON's text of a scalar is the grammar's."""
    return json.dumps(value)


def alike(left: Any, right: Any) -> bool:
    return type(left) is type(right)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: alike(a, b) and a == b,
    "!=": lambda a, b: alike(a, b) and a != b,
    "<": lambda a, b: alike(a, b) and type(a) in (int, str) and a < b,
    "<=": lambda a, b: alike(a, b) and type(a) in (int, str) and a <= b,
    ">": lambda a, b: alike(a, b) and type(a) in (int, str) and a > b,
    ">=": lambda a, b: alike(a, b) and type(a) in (int, str) and a >= b,
    "contains": lambda a, b: (
        any(alike(each, b) and each == b for each in a)
        if isinstance(a, list)
        else type(a) is type(b) is str and b in a
    ),
    "startswith": lambda a, b: type(a) is type(b) is str and a.startswith(b),
}


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> tuple[str, Any]:
    kind = draw(st.sampled_from(["and", "or", "not", "compare"])) if depth else "compare"
    if kind in ("and", "or"):
        parts = [draw(conditions(depth - 1)) for _ in range(draw(st.integers(2, 3)))]
        text = f" {kind} ".join(f"({part})" for part, _ in parts)
        every = all if kind == "and" else any
        return text, lambda body: every(check(body) for _, check in parts)
    if kind == "not":
        text, check = draw(conditions(depth - 1))
        return f"not ({text})", lambda body: not check(body)
    key, operation, value = (
        draw(st.sampled_from("abc")),
        draw(st.sampled_from(sorted(OPERATIONS))),
        draw(scalars),
    )
    return (
        f"body.{key} {operation} {literal(value)}",
        lambda body: key in body and bool(OPERATIONS[operation](body[key], value)),
    )


@given(conditions(), trees)
def test_it_is_as_a_second_evaluation_says(made: tuple[str, Any], body: dict[str, Any]) -> None:
    text, check = made
    assert holds(parse(text), Given(body)) is check(body)
