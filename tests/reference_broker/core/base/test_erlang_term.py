"""JSON values as Erlang prints them; what RabbitMQ 3.10.8 printed."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.base.erlang_term import SHOWN_CHARACTERS, erlang_term


@pytest.mark.parametrize(
    ("value", "term"),
    [
        (None, "null"),
        (True, "true"),
        (-5, "-5"),
        (12345678901234567890, "12345678901234567890"),
        (1.5, "1.5"),
        (1.0, "1.0"),
        (1e30, "1.0e30"),
        (1.5e-9, "1.5e-9"),
        ("a&b", '<<"a&b">>'),
        ("é", '<<"é">>'),
        ("日", "<<230,151,165>>"),
        ('q"q\\ \n', '<<"q\\"q\\\\ \\n">>'),
        ("\x00", "<<0>>"),
        ([1, "a", None, True, {"k": 1.5}], '[1,<<"a">>,null,true,#{<<"k">> => 1.5}]'),
        ({}, "#{}"),
        ([], "[]"),
    ],
)
def test_terms(value: Any, term: str) -> None:
    assert erlang_term(value) == term


def test_what_is_deep_or_long_is_cut() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert erlang_term(deep) == "[[[[[[[[...]]]]]]]]"
    assert len(erlang_term(list(range(100_000)))) == SHOWN_CHARACTERS + 3
