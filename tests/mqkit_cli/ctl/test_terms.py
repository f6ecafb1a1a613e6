"""Values as rabbitmqctl prints them; the expected texts are its own."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit_cli.ctl.terms import atoms, cell, term


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ("", ""),
        ("sl/ash é", "sl/ash é"),
        ("two\nlines\tand a tab", "two\\nlines\\tand a tab"),
        (0, "0"),
        (True, "true"),
        ({}, "[]"),
        ({"x-queue-type": "quorum", "x": 3}, '[{"x-queue-type","quorum"},{"x",3}]'),
        ({"capabilities": {"basic.nack": True}}, '[{"capabilities",[{"basic.nack",true}]}]'),
        ({"a": [1, "b", None]}, '[{"a",[1,"b",undefined]}]'),
        ({'say "hi"': "back\\slash"}, '[{"say \\"hi\\"","back\\\\slash"}]'),
    ],
)  # fmt: skip
def test_a_column(value: Any, expected: str) -> None:
    assert cell(value) == expected


def test_text_is_quoted_inside_another_value_only() -> None:
    assert cell("a") == "a"
    assert term("a") == '"a"'


def test_tags() -> None:
    assert atoms([]) == "[]"
    assert atoms(["management", "x"]) == "[management, x]"
