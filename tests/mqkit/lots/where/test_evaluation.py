"""Conditions beside a second evaluation, by Python's own operators where both know the types."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.lots.where import parse
from mqkit.lots.where.evaluation import MISSING, holds


class Message:
    """Facts as they are given; what is not given is not there."""

    def __init__(self, **facts: Any) -> None:
        self._facts: Mapping[str, Any] = facts

    def value(self, name: str) -> Any:
        return self._facts.get(name, MISSING)


ORDER = Message(
    body={"order": {"total": 150, "tags": ["late", "eu"], "paid": True, "note": None}, "x y": 1},
    header={"retry": 3, "x-a": "b"},
    reason="bad VAT id",
    error="ValueError: no VAT",
    attempts=5,
    age=7_200_000,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("body.order.total > 100", True),
        ("body.order.total > 150", False),
        ("body.order.total >= 150 and age > 1h", True),
        ('body["x y"] == 1', True),
        ('body.order.tags contains "eu"', True),
        ('body.order.tags[1] == "eu"', True),
        ("body.order.tags[2] == 1", False),
        ("body.order.paid == true", True),
        ("body.order.paid == 1", False),
        ("body.order.note == null", True),
        ("body.order.gone == null", False),
        ("body.order.gone != 5", False),
        ("not body.order.gone == 5", True),
        ('body.order.total == "150"', False),
        ('body.order.total != "150"', False),
        ("header.retry in [1, 2, 3]", True),
        ('header["x-a"] startswith "b"', True),
        ('reason contains "VAT" and not error contains "Key"', True),
        ("attempts < 5 or attempts == 5", True),
        ("age < 2h", False),
        ("age <= 2h", True),
        ("100 < body.order.total", True),
    ],
)
def test_what_holds(text: str, expected: bool) -> None:
    assert holds(parse(text), ORDER) is expected


def test_of_a_body_that_is_no_json_nothing_is_said() -> None:
    assert not holds(parse("body == null"), Message(attempts=1))
    assert not holds(parse("body.a != 1"), Message(attempts=1))
    assert holds(parse("body.a == 1 or attempts == 1"), Message(attempts=1))


OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@given(
    st.sampled_from(sorted(OPERATORS)),
    st.one_of(
        st.tuples(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9)),
        st.tuples(st.text("abc", max_size=3), st.text("abc", max_size=3)),
    ),
)
def test_numbers_and_texts_compare_as_pythons_do(sign: str, pair: tuple[Any, Any]) -> None:
    left, right = pair
    literal = f'"{right}"' if isinstance(right, str) else str(right)
    found = holds(parse(f"body.v {sign} {literal}"), Message(body={"v": left}))
    assert found is OPERATORS[sign](left, right)
