"""Conditions are read by their grammar, or refused in one line with the column."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.lots.where.conditions import All, Any, Comparison, Literal, Not, Operator, Path
from mqkit.lots.where.parser import DEPTH_MAX, LIST_MAX, parse, parse_path
from mqkit.lots.where.tokens import WhereError

TOTAL = Path("body", ("order", "total"))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        (
            "body.order.total > 100",
            Comparison(Operator.GREATER, TOTAL, (Literal(100),)),
        ),
        (
            'header["x-a b"] == "c\\n"',
            Comparison(Operator.EQUAL, Path("header", ("x-a b",)), (Literal("c\n"),)),
        ),
        (
            "body.items[0].id in [1, 'two', null]",
            Comparison(
                Operator.IN,
                Path("body", ("items", 0, "id")),
                (Literal(1), Literal("two"), Literal(None)),
            ),
        ),
        ("age >= 1h", Comparison(Operator.AT_LEAST, Path("age"), (Literal(3_600_000, True),))),
        (
            'reason contains "x" or not (attempts < 3 and error startswith "O")',
            Any(
                (
                    Comparison(Operator.CONTAINS, Path("reason"), (Literal("x"),)),
                    Not(
                        All(
                            (
                                Comparison(Operator.LESS, Path("attempts"), (Literal(3),)),
                                Comparison(Operator.STARTS_WITH, Path("error"), (Literal("O"),)),
                            )
                        )
                    ),
                )
            ),
        ),
    ],
)
def test_what_the_grammar_has(text: str, condition: object) -> None:
    assert parse(text) == condition


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("body.total >", 13),
        ("body.total = 5", 12),
        ("total > 5", 1),
        ("body.total > 5 and", 19),
        ("(body.total > 5", 16),
        ("body.total > 5)", 15),
        ('reason == "open', 11),
        ("body..total > 5", 6),
        ("body.total in []", 16),
        ("body.total in 5", 15),
        ("__import__('os')", 1),
        ("body.total > 5; body.total < 6", 15),
    ],
)
def test_what_it_has_not_is_one_line_with_its_column(text: str, column: int) -> None:
    with pytest.raises(WhereError) as error:
        parse(text)
    said = str(error.value)
    assert isinstance(error.value, ConfigurationError)
    assert "\n" not in said
    assert f"column {column}:" in said


def test_bounds() -> None:
    parse("(" * (DEPTH_MAX - 1) + "age > 1h" + ")" * (DEPTH_MAX - 1))
    for deep in (
        "(" * (DEPTH_MAX + 1) + "age > 1h" + ")" * (DEPTH_MAX + 1),
        "not " * 10_000 + "age > 1h",
        f"age in [{', '.join('1' for _ in range(LIST_MAX + 1))}]",
        "body" + ".a" * 1_000 + " > 1",
        "age > " + "9" * 5_000,
        "body.a > 1 and " * 100_000 + "body.a > 1",
    ):
        with pytest.raises(WhereError):
            parse(deep)


@given(st.text())
@example("body[99999999999999999999] > 1")
@example('body["\\ud800"] == 1')
def test_no_text_is_more_than_refused(text: str) -> None:
    for read in (parse, parse_path):
        with suppress(WhereError):
            read(text)
