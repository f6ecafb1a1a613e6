"""The text of a condition as tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.lots.where.tokens import DIGITS_MAX, TEXT_MAX, Kind, WhereError, duration_ms, tokens


def kinds(text: str) -> list[tuple[Kind, object]]:
    return [(token.kind, token.value or token.text) for token in tokens(text)[:-1]]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("5", Kind.NUMBER, 5),
        ("-5.25", Kind.NUMBER, -5.25),
        ("1e5", Kind.NUMBER, 1e5),
        ("90s", Kind.DURATION, 90_000),
        ("1h30m", Kind.DURATION, 5_400_000),
        ("365d", Kind.DURATION, 31_536_000_000),
        ('"a\\n\\"b"', Kind.TEXT, 'a\n"b'),
        ("'it\\'s \"so\"'", Kind.TEXT, 'it\'s "so"'),
        ('"\\u00fc"', Kind.TEXT, "ü"),
        ("x-tenant_1", Kind.NAME, "x-tenant_1"),
        ("<=", Kind.SYMBOL, "<="),
    ],
)
def test_each_kind(text: str, kind: Kind, value: object) -> None:
    assert kinds(text) == [(kind, value)]


def test_tokens_need_no_space_between_them() -> None:
    found = [token.text for token in tokens('body.a[0]>=-1 and(x=="y")')]
    assert found == [
        "body",
        ".",
        "a",
        "[",
        "0",
        "]",
        ">=",
        "-1",
        "and",
        "(",
        "x",
        "==",
        '"y"',
        ")",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("a = 1", 3, "`==` is"),
        ('body.a == "x', 11, "does not end"),
        ("1x", 1, "neither a number nor a duration"),
        ("007", 1, "neither a number"),
        ("1.5h", 1, "neither a number"),
        ("a & b", 3, "no meaning"),
        ('"\\q"', 1, "escape"),
        ("1" * (DIGITS_MAX + 1), 1, "digits"),
        ("1e999", 1, "too large"),
        ("9999999999d", 1, "digits"),
        (" " * (TEXT_MAX + 1), TEXT_MAX + 1, "characters"),
    ],
)
def test_a_fault_has_its_column(text: str, column: int, words: str) -> None:
    with pytest.raises(WhereError, match=f"column {column}: .*{words}"):
        tokens(text)


@given(st.text())
def test_any_text_is_tokens_or_a_fault(text: str) -> None:
    try:
        found = tokens(text)
    except WhereError:
        return
    assert (
        "".join(token.text for token in found) == "".join(text.split(None))
        or '"' in text
        or ("'" in text)
    )


@pytest.mark.parametrize("text", ["", "5", "1.5h", "h", "-1h", "1 h"])
def test_an_age_is_a_duration(text: str) -> None:
    with pytest.raises(ConfigurationError, match="no age"):
        duration_ms(text)
    assert duration_ms("100d12h") == 8_683_200_000
